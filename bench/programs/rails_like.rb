# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Calls as in a web application: 20 threads, each serving one request after another. A request
# passes 60 levels of middleware, the same for all, and runs one of 200 actions, popular ones more
# often: a fixed tree of 512 leaves below 40 levels, over 2,000 methods. Until its input ends.
require_relative "common"

LEVELS = 40
WIDTH = 50
THREADS = 20
ACTIONS = 200
LEAVES = 512

# Method a of level l calls one of the next level: near the root it depends on the action only,
# near the leaf it changes with each step.
def define_application
  LEVELS.times do |level|
    methods = Array.new(WIDTH) do |at|
      <<~RUBY
        def level_#{level}_#{at}(action, step)
          return leaf(action, step) if #{level + 1 == LEVELS}
          __send__(NEXT[#{level}][(action * #{7 + at} + (step >> #{(LEVELS - 1 - level) / 4})) % #{WIDTH}], action, step)
        end
      RUBY
    end
    Object.class_eval("class Service#{level}\nend\n#{methods.join}", "/app/lib/service_#{level}.rb", 1)
  end
end

def define_middleware
  60.times do |i|
    call = i == 59 ? "__send__(NEXT[0][action % #{WIDTH}], action, step)" : "middleware_#{i + 1}(action, step)"
    Object.class_eval("def middleware_#{i}(action, step)\n  #{call}\nend", "/app/middleware/m#{i}.rb", 1)
  end
end

NEXT = Array.new(LEVELS) { |level| Array.new(WIDTH) { |at| :"level_#{[level + 1, LEVELS - 1].min}_#{at}" } }

def leaf(action, step)
  n = 0
  (200 + (action * 31 + step * 17) % 1_500).times { |i| n += i & 7 }
  n
end

def serve(random)
  action = (ACTIONS * random.rand**3).to_i
  LEAVES.times { |step| middleware_0(action, step) }
end

define_application
define_middleware
THREADS.times do |i|
  Thread.new do
    random = Random.new(i)
    loop do
      serve(random)
      sleep 0.002
    end
  end
end
puts "ready"
$stdin.read
