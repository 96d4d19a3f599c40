# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Threads that mostly sleep, until the input ends: sleepers.rb THREADS
require_relative "common"

def wake_up(number) = burn(20_000 + number)

def doze(number)
  loop do
    sleep 1 + (number % 10) * 0.1
    wake_up(number)
  end
end

(ARGV.fetch(0).to_i - 1).times { |i| Thread.new { doze(i) } }
puts "ready"
$stdin.read
