# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# What a member of the family executes in its place: family_next.rb FOLDER NAME WORK_NS
# WORK_NS is what the work took that the process did before.
from = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)
require_relative "plain"

def next_work
  burn(0.2)
end

work_ns = next_work
text = JSON.generate(pid: Process.pid, script_ns: process_cpu_now - from, version: RUBY_VERSION, work_ns: work_ns,
                     before_ns: ARGV[2].to_i)
File.write(File.join(ARGV[0], ".#{ARGV[1]}"), text)
File.rename(File.join(ARGV[0], ".#{ARGV[1]}"), File.join(ARGV[0], ARGV[1]))
$stdin.read
