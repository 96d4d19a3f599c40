# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# A child by fork and one that executes another Ruby. What is inner was surely lived, what is
# outer surely not more.
require_relative "plain"
require "rbconfig"

def before_fork
  sleep(0.4)
  burn(0.2)
end

def child_sleep
  sleep(0.5)
end

def child_burn
  burn(0.1)
end

def before_exec
  sleep(0.3)
end

AFTER = "def after_exec; sleep(0.5); end; after_exec; puts Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)"

def child
  reader, writer = IO.pipe
  outer = mono_now
  pid = fork do
    inner = mono_now
    writer.puts(inner)
    writer.flush
    yield writer
    writer.puts(mono_now)
    writer.close
    exit!(0)
  end
  writer.close
  from, to = reader.read.split.map(&:to_i)
  Process.wait(pid)
  { pid: pid, inner_ns: to - from, outer_ns: mono_now - outer }
end

ready
before_fork
forked = child do
  child_sleep
  child_burn
end
executed = child do |writer|
  before_exec
  exec(RbConfig.ruby, "-e", AFTER, out: writer)
end
done(forked: forked, executed: executed)
