# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Two methods share the CPU 70 to 30, in turns of uneven length: split.rb SECONDS
require_relative "common"

def seven_parts(limit)
  n = 0
  loop do
    300.times { |i| n += i & 3 }
    return n if cpu_now >= limit
  end
end

def three_parts(limit)
  n = 0
  loop do
    300.times { |i| n += i & 5 }
    return n if cpu_now >= limit
  end
end

random = Random.new(7)
seven = three = 0
ready
ends = cpu_now + (ARGV.fetch(0).to_f * 1e9).to_i
while cpu_now < ends
  turn = random.rand(200_000..2_000_000)
  a = cpu_now
  seven_parts(a + turn * 7)
  b = cpu_now
  three_parts(b + turn * 3)
  seven += b - a
  three += cpu_now - b
end
done(seven: seven, three: three)
