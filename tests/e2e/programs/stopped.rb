# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Burns CPU while another thread sleeps; somebody stops it and lets it go on.
require_relative "plain"

# It tells its truth itself: a tick that comes only then has CPU of before it, which is its own.
def burns_here
  tell(cpu_ns: burn(0.8), tid: tid_now)
  $stdout.puts("done")
  $stdout.flush
end

Thread.new { Thread.current.name = "sleeper"; sleep }
sleep 0.1
ready
burns_here
$stdin.read
exit!(0)
