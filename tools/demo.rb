# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# A small shop, for the demonstration: orders come in as JSON, are priced, searched and reported,
# by a thread each. ruby demo.rb [SECONDS]

require "json"

module Shop
  Order = Struct.new(:id, :customer, :lines) do
    def total
      lines.sum { |line| line["price"] * line["count"] }
    end
  end

  class Parser
    def parse(text)
      JSON.parse(text).map { |row| Order.new(row["id"], row["customer"], row["lines"]) }
    end
  end

  class Report
    def initialize(orders)
      @orders = orders
    end

    def best_customers(count)
      totals = Hash.new(0)
      @orders.each { |order| totals[order.customer] += order.total }
      totals.sort_by { |name, total| [-total, name] }.first(count)
    end

    def render
      best_customers(20).map.with_index(1) do |(name, total), place|
        format("%3d. %-20s %12.2f", place, name, total / 100.0)
      end.join("\n")
    end
  end

  class Search
    WORD = /[a-z]+/

    def initialize(texts)
      @index = Hash.new { |hash, word| hash[word] = [] }
      texts.each_with_index { |text, number| add(text, number) }
    end

    def add(text, number)
      text.downcase.scan(WORD) { |word| @index[word] << number }
    end

    def find(*words)
      words.map { |word| @index[word] }.reduce(:&)
    end
  end

  # The same numbers in every run.
  class Source
    NAMES = %w[Ada Grace Edsger Barbara Donald Alan Margaret Niklaus].freeze
    GOODS = %w[lamp chair table shelf mirror carpet curtain clock].freeze

    def initialize
      @random = Random.new(1)
    end

    def orders(count)
      Array.new(count) { |id| { id: id, customer: customer, lines: lines } }
    end

    def texts(count)
      Array.new(count) { Array.new(12) { GOODS.sample(random: @random) }.join(" ") }
    end

    private

    def customer
      "#{NAMES.sample(random: @random)} #{@random.rand(50)}"
    end

    def lines
      Array.new(@random.rand(1..5)) do
        { name: GOODS.sample(random: @random), price: @random.rand(100..9999), count: 1 }
      end
    end
  end
end

seconds = Float(ARGV.fetch(0, "5"))
deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
source = Shop::Source.new
incoming = JSON.generate(source.orders(500))
texts = source.texts(200)
parsed = Thread::SizedQueue.new(4)
running = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) < deadline }

importer = Thread.new do
  parser = Shop::Parser.new
  parsed << parser.parse(incoming) while running.call
  parsed.close
end
importer.name = "importer"

reporter = Thread.new do
  while (orders = parsed.pop)
    Shop::Report.new(orders).render
  end
end
reporter.name = "reporter"

searcher = Thread.new do
  Shop::Search.new(texts).find("lamp", "clock") while running.call
end
searcher.name = "searcher"

[importer, reporter, searcher].each(&:join)
