# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Two methods share the CPU 70 to 30, in turns of uneven length; answers "split SECONDS" with how
# much each really used.
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

random = Random.new
converse do |_, seconds|
  seven = three = 0
  ends = wall_now + (seconds.to_f * 1e9).to_i
  while wall_now < ends
    turn = random.rand(200_000..2_000_000)
    first = cpu_now
    seven_parts(first + turn * 7)
    second = cpu_now
    three_parts(second + turn * 3)
    seven += second - first
    three += cpu_now - second
  end
  { seven: seven, three: three }
end
