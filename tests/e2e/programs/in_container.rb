# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Works where it is put, and says how it sees itself.
require_relative "plain"

def contained_work
  burn(0.2)
end

from = ready[1]
contained_work
Thread.new { Thread.current.name = "inside"; burn(0.1) }.join
done(pid: Process.pid, process_ns: process_cpu_now - from, version: RUBY_VERSION)
