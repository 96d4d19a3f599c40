# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Threads that wait 20 ms again and again, each in another way, and know for how long; runs on
# every Ruby since 2.7: short_states.rb SECONDS
require_relative "plain"
require "monitor"
require "socket"

# What it waited, and what else the kernel counted for it: CPU, and waiting for one.
def in_state(state, limit)
  waited = 0
  spent = -cpu_now - run_delay_now
  while (from = mono_now) < limit
    yield
    waited += mono_now - from
  end
  { tid: tid_now, state: state, waited_ns: waited, spent_ns: spent + cpu_now + run_delay_now }
end

# Somebody outside who writes a byte every 20 ms.
def fed(input, to)
  Process.spawn("while sleep 0.02; do echo; done", out: to)
  to.close
  input
end

lock = Mutex.new
taken = Mutex.new
reader, writer = IO.pipe
left, right = UNIXSocket.pair
fed(reader, writer)
fed(left, right)
silent, $open = IO.pipe
never = Thread.new { sleep }
holder = Thread.new { loop { taken.synchronize { sleep 0.02 }; sleep 0.002 } }
works = {
  "sleep" => ["sleeping", -> { sleep 0.02 }],
  "condition variable" => ["waiting", -> { lock.synchronize { ConditionVariable.new.wait(lock, 0.02) } }],
  "select" => ["waiting", -> { IO.select([silent], nil, nil, 0.02) }],
  "pipe" => ["waiting", -> { reader.readpartial(1) }],
  "socket" => ["network", -> { left.readpartial(1) }],
  "join" => ["blocked", -> { never.join(0.02) }],
  "child" => ["waiting", -> { Process.wait(Process.spawn("exec sleep 0.9")) }]
}
ready
limit = mono_now + (ARGV.fetch(0).to_f * 1e9).to_i
threads = works.map do |name, (state, work)|
  Thread.new do
    Thread.current.name = name
    [name, in_state(state, limit, &work)]
  end
end
truth = threads.map(&:value).to_h
done(truth)
[holder, never].each(&:kill)
exit!(0)
