# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# One pid for several processes, one after the other, and one thread id for several threads: in a
# pid namespace of its own, where the next id can be chosen. Each has a method of its own.
require_relative "plain"
require "rbconfig"

KINDS = %w[fork fork spawn other spawn fork].freeze
SECONDS = 0.2

def next_id(id)
  File.write("/proc/sys/kernel/ns_last_pid", (id - 1).to_s)
end

def code(index)
  "def image_#{index}; burn(#{SECONDS}); end; image_#{index}"
end

def start(kind, index)
  case kind
  when "fork" then fork { eval(code(index)); exit!(0) }
  when "spawn" then spawn(RbConfig.ruby, "-r", File.join(__dir__, "plain"), "-e", code(index))
  else spawn("sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done")
  end
end

# CPU of all children that were waited for.
def children_ns
  times = Process.times
  ((times.cutime + times.cstime) * 1e9).to_i
end

def processes
  pid = nil
  KINDS.each_with_index.map do |kind, index|
    next_id(pid) if pid
    before = children_ns
    own = start(kind, index)
    pid ||= own
    Process.wait(own)
    { kind: kind, pid: own, cpu_ns: children_ns - before }
  end
end

def thread_one
  burn(SECONDS)
end

def thread_two
  burn(SECONDS)
end

def thread_three
  burn(SECONDS)
end

def run_thread(name)
  Thread.new do
    Thread.current.name = name
    { name: name, tid: tid_now, cpu_ns: send("thread_#{name}") }
  end.value
end

# The VM keeps the native thread of one that ended for some seconds, for the next one.
def threads
  first = run_thread("one")
  second = run_thread("two")
  sleep 0.05 while File.exist?("/proc/self/task/#{first[:tid]}")
  next_id(first[:tid])
  [first, second, run_thread("three")]
end

ready
done(pid: Process.pid, processes: processes, threads: threads)
