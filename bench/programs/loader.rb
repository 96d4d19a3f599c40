# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Loads code, runs it, drops it and allocates, all the time: loader.rb LIVE_OBJECTS; answers
# "run SECONDS". The more objects live, the less often the collector runs, and the longer each time.
require_relative "common"

ALIVE = 40
LIVE = Array.new(ARGV.fetch(0).to_i) { |n| "object #{n}" }

def source(number)
  methods = Array.new(12) do |i|
    "def step_#{i}(n)\n  text = \"#{number} \#{n}\" * 2\n  n.zero? ? text.size : step_#{(i * 5 + 1) % 12}(n - 1)\nend"
  end
  "class Part\n#{methods.join("\n")}\nend\nPart"
end

def load_one(number)
  space = Module.new
  space.module_eval(source(number), "/app/part_#{number % 500}.rb", 1)
end

def use(part)
  object = part.new
  120.times { |n| object.step_0(20 + n % 5) }
end

def garbage
  Array.new(300) { |n| { n => "value #{n}" } }
end

converse do |_, seconds|
  parts = []
  number = 0
  before = GC.count
  ends = wall_now + (seconds.to_f * 1e9).to_i
  while wall_now < ends
    parts << load_one(number += 1)
    parts.shift if parts.size > ALIVE
    parts.sample(4).each { |part| use(part) }
    garbage
  end
  { loaded: number, collections: GC.count - before }
end
