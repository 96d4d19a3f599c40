# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  # One table: a line a figure.
  module Table
    @over = []
    @count = 0

    class << self
      def section(name, about)
        @section = name
        puts "", "#{name}: #{about}"
        puts format("  %-46s %-20s %-18s %-5s %s", "figure", "value", "budget", "", "how")
      end

      # over: whether the budget is exceeded; nil where there is none.
      def figure(what, value, how, budget: nil, over: nil)
        @count += 1
        mark = over.nil? ? "" : (over ? "over" : "ok")
        @over << "#{@section}: #{what}: #{value} (#{budget})" if over
        puts format("  %-46s %-20s %-18s %-5s %s", what, value, budget || "-", mark, how)
      end

      def note(text) = puts("  #{text}")

      def summary
        puts "", "#{@count} figures, #{@over.size} over budget; load at the end #{Machine.load_average}"
        @over.each { |line| puts "  over: #{line}" }
      end

      def percent(share, digits = 2) = format("%.#{digits}f %%", share * 100)
      def mb(kb) = format("%.1f MB", kb / 1024.0)
      def ms(ns) = format("%.1f ms", ns / 1e6)
      def us(ns) = ns < 1000 ? format("%.0f ns", ns) : format("%.2f us", ns / 1e3)
    end
  end
end
