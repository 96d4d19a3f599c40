# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# A parent, three children by fork, one by fork in a thread, and a new Ruby by exec.
require_relative "common"
require "rbconfig"

def parent_work = burn(0.4)
def child_work(seconds) = burn(seconds)

def child(seconds)
  reader, writer = IO.pipe
  pid = fork do
    reader.close
    child_work(seconds)
    writer.puts(process_cpu_now)
    writer.close
    exit!(0)
  end
  writer.close
  [pid, reader]
end

ready if ARGV[0] == "wait"
warm_up = burn(0.2)
children = [0.2, 0.3, 0.4].map { |seconds| child(seconds) }
children << Thread.new { child(0.3) }.value
parent_work_ns = parent_work
truth = children.map do |pid, reader|
  cpu_ns = reader.read.to_i
  Process.wait(pid)
  { pid: pid, cpu_ns: cpu_ns }
end
new_ruby = IO.popen([RbConfig.ruby, "-e", "def exec_work = 8_000_000.times {}; exec_work; puts Process.pid, " \
                                          "Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)"], &:read)
pid, cpu_ns = new_ruby.split.map(&:to_i)
done(parent: Process.pid, parent_work_ns: parent_work_ns, children: truth, new_ruby: { pid: pid, cpu_ns: cpu_ns }, warm_up: warm_up)
