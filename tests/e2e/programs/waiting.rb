# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Threads that wait: for time, for a queue, for a lock that another has, for each other.
require_relative "common"

def sleeps_here = sleep(60)
def pops_here = Queue.new.pop
def holds_here(lock) = lock.synchronize { sleep(60) }
def waits_here(lock) = lock.synchronize { nil }
def joins_here(thread) = thread.join

def first_here(mine, other, barrier)
  mine.synchronize do
    barrier << 1
    sleep 0.01 until barrier.size == 2
    other.synchronize { nil }
  end
end

def named(name)
  Thread.new do
    Thread.current.name = name
    Thread.current[:tid] = Thread.current.native_thread_id
    yield
  end
end

lock = Mutex.new
one = Mutex.new
two = Mutex.new
barrier = Queue.new
sleeper = named("sleeper") { sleeps_here }
threads = [sleeper, named("popper") { pops_here }, named("holder") { holds_here(lock) }]
sleep 0.1
threads << named("waiter") { waits_here(lock) }
threads << named("joiner") { joins_here(sleeper) }
threads << named("left") { first_here(one, two, barrier) }
threads << named("right") { first_here(two, one, barrier) }
threads << named("spinner") { nil while true }
sleep 0.5
sleep 0.05 until Thread.list.count { |thread| !thread.stop? } <= 2 # this one and the spinner
ready
done(threads.to_h { |t| [t.name, t[:tid]] })
exit!(0)
