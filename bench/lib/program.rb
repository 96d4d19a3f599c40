# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "io/wait"

module Bench
  # A program of bench/programs. It says "ready", answers each line it is given with one line of
  # JSON, and ends when its input is closed.
  class Program
    attr_reader :pid

    def initialize(*command, env: {}, prefix: [])
      input, @input = IO.pipe
      @output, output = IO.pipe
      @name = command.join(" ")
      @pid = Children.spawn(env, *prefix, *command.map(&:to_s), in: input, out: output)
      [input, output].each(&:close)
      said = line(60)
      raise Unable, "#{@name} said #{said}" unless said == "ready"
    end

    def self.ruby(name, *args, **options) = new(RUBY, File.join(PROGRAMS, name), *args, **options)

    def tell(text) = @input.puts(text)

    # Tells it something and waits for the answer.
    def ask(text, seconds: 120)
      tell(text)
      answer(seconds: seconds)
    end

    def answer(seconds: 120) = JSON.parse(line(seconds))

    def finish
      [@input, @output].each { |io| io.close unless io.closed? }
      Children.wait(@pid, 5) || Children.kill(@pid)
    end

    private

    def line(seconds)
      limit = Bench.now + seconds
      @heard ||= +""
      until (text = @heard.slice!(/\A.*\n/))
        left = limit - Bench.now
        raise Unable, "#{@name} says nothing for #{seconds} s" unless left.positive? && @output.wait_readable(left)

        @heard << @output.read_nonblock(65_536)
      end
      text.chomp
    rescue EOFError
      raise Unable, "#{@name} ended"
    end
  end
end
