# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Burns CPU while another thread sleeps; somebody stops it and lets it go on.
require_relative "plain"

def burns_here
  burn(0.8)
end

Thread.new { Thread.current.name = "sleeper"; sleep }
sleep 0.1
ready
done(cpu_ns: burns_here, tid: tid_now)
exit!(0)
