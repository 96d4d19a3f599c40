# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Two Ruby processes hand a byte to and fro over pipes. Answers "rounds N" with the CPU time that
# both used for it; "other" with the pid of the second.
require_relative "common"

# CPU clock of another process (linux/posix-timers.h: CPUCLOCK_SCHED)
def clock_of(pid) = (~pid << 3) | 2

there_out, there_in = IO.pipe
back_out, back_in = IO.pipe
other = fork do
  [there_in, back_out].each(&:close)
  loop { back_in.syswrite(there_out.sysread(1)) }
rescue EOFError
  exit!(0)
end
[there_out, back_in].each(&:close)

both = -> { process_cpu_now + Process.clock_gettime(clock_of(other), :nanosecond) }
converse do |command, rounds|
  next { other: other } if command == "other"

  from = both.call
  rounds.to_i.times do
    there_in.syswrite("x")
    back_out.sysread(1)
  end
  { cpu_ns: both.call - from, switches: 2 * rounds.to_i }
end
there_in.close
Process.wait(other)
