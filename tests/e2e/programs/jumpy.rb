# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Threads that sleep, burn, pass a token and end; somebody stops it and moves it from CPU to CPU:
# jumpy.rb LIBRARY SECONDS
require_relative "plain"
require_relative "native_sleeper"

NativeSleeper.open(ARGV.fetch(0))

def burner(limit)
  nil while mono_now < limit
end

def sleeper(limit)
  sleep(0.0007) while mono_now < limit
end

def ends_often(limit)
  count = 0
  while mono_now < limit
    NativeSleeper.run(0.0003)
    count += 1
  end
  count
end

there, back = Queue.new, Queue.new
ready_at = ready
limit = mono_now + (ARGV.fetch(1).to_f * 1e9).to_i
threads = %i[burner sleeper ends_often].map { |name| Thread.new { send(name, limit) } }
threads << Thread.new { back << there.pop while mono_now < limit }
threads << Thread.new { [there << 1, back.pop] while mono_now < limit }
threads[0..2].each(&:join)
threads[3..4].each { |thread| thread.join(0.2) }
done(process_ns: process_cpu_now - ready_at[1], ended: threads[2].value)
exit!(0)
