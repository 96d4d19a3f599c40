# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Busy at some depth until its input ends: spin.rb DEPTH steady|varied|garbage [PERCENT]
#   steady: always the same stack; varied: hardly two alike; garbage: nothing but allocation
#   PERCENT of the time, else all of it
require_relative "common"

def varied(levels, bits)
  return burn(500_000) if levels.zero?
  return varied(levels - 1, bits) if bits[levels % 62] == 1

  varied(levels - 1, bits)
end

def garbage
  2_000.times { |n| ["item #{n}", { n => [n] }, Object.new] }
end

random = Random.new(5)
depth = ARGV.fetch(0).to_i
kind = ARGV.fetch(1)
percent = (ARGV[2] || 100).to_i
step = {
  "steady" => -> { burn(1_000_000) },
  "varied" => -> { varied(depth, random.rand(1 << 62)) },
  "garbage" => -> { garbage }
}.fetch(kind)

puts "ready"
descend(kind == "varied" ? 0 : depth) do
  until told?
    from = wall_now
    step.call
    sleep((wall_now - from) * (100 - percent) / percent / 1e9) if percent < 100
  end
end
