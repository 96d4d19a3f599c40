# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Threads whose objects have ids, get them, or never do; in the words of Ruby 2.7.
require_relative "plain"

TRUTH = { threads: {}, turns: [], steps: [] } # rubocop:disable Style/MutableConstant
STOP = [false] # rubocop:disable Style/MutableConstant

def in_early
  burn(0.002)
end

def in_late
  burn(0.002)
  Array.new(200) { "x" * 50 }
end

def in_never
  burn(0.002)
end

def in_named
  burn(0.002)
end

def in_fiber
  burn(0.002)
end

def until_stopped(key, name = key)
  started = Queue.new
  thread = Thread.new do
    Thread.current.name = name
    TRUTH[:threads][key] = { tid: tid_now, id: -1 }
    started << true
    until STOP[0]
      yield
      sleep 0.02 # so that the others are not long in turn
    end
  end
  started.pop
  thread
end

# As an object that is asked for its id.
def give_id(key, thread)
  TRUTH[:threads][key][:id] = thread.object_id
end

# A thread that does one piece of work in a method of its own, and says whose it was.
def turn(number, with_id)
  Object.class_eval("def turn_#{number}\nburn(0.012)\nend", __FILE__, __LINE__)
  Thread.new do
    Thread.current.name = "turn #{number}"
    id = with_id ? Thread.current.object_id : -1
    TRUTH[:turns][number] = { tid: tid_now, id: id }
    send("turn_#{number}")
  end
end

# How far apart the ids are of two objects that get theirs one after the other.
def step
  first = Object.new.object_id
  yield
  Object.new.object_id - first
end

KEPT = Array.new(30_000) { Object.new }
KEPT.each(&:object_id)
50_000.times { Object.new.object_id } # those are freed

fibers = {}
threads = {
  "early" => until_stopped("early") do
    in_early
    (fibers[:one] ||= Fiber.new { loop { Fiber.yield in_fiber } }).resume
  end,
  "late" => until_stopped("late") { in_late },
  "never" => until_stopped("never") { in_never },
  "asleep" => until_stopped("asleep") { sleep },
  "invalid" => until_stopped("invalid", "caf\xE9") { in_named },
  "endless" => until_stopped("endless", "\u00e9" * 5_000) { in_named },
  "empty" => until_stopped("empty", "") { in_named },
}
give_id("early", threads["early"])

ready
sleep 0.3
kept = []
60.times do |number|
  thread = turn(number, number.even?)
  kept << thread if number % 4 < 2
  thread.join
  thread = nil
  GC.start if number % 5 == 4
  GC.compact if number == 30 && GC.respond_to?(:compact)
end
sleep 0.3
give_id("late", threads["late"])
give_id("asleep", threads["asleep"])
threads["early"].name = "renamed"
3.times do
  TRUTH[:steps] << step {} << step { sleep 0.1 }
end
tell(TRUTH)
$stdout.puts("settled")
$stdout.flush
$stdin.gets
STOP[0] = true
threads["asleep"].wakeup
threads.each_value(&:join)
done(TRUTH.merge(kept: kept.size))
