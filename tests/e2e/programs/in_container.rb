# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Works where it is put, and says how it sees itself.
require_relative "plain"

def contained_work
  burn(0.2)
end

def inside_work
  burn(0.1)
end

ready
work_ns = contained_work
inside_ns = Thread.new { Thread.current.name = "inside"; inside_work }.value
done(pid: Process.pid, work_ns: work_ns, inside_ns: inside_ns, version: RUBY_VERSION)
