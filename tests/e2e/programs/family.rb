# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# One of every way in which a process comes to be: a child, a child of a thread, a daemon, one that
# executes another Ruby in its place, a grandchild. Each says that it is done, and waits, so that
# its clock can be read. A zombie lies beside them.
#	family.rb FOLDER [COMMAND-TO-EXECUTE...]
require_relative "plain"

PLACE = ARGV.shift

def own_work
  $work_ns = burn(0.2)
end

def parent_work
  burn(0.3)
end

# That it is done; then it waits for the end of the input.
def say(kind)
  File.write(File.join(PLACE, ".#{kind}"), JSON.generate(pid: Process.pid, work_ns: $work_ns))
  File.rename(File.join(PLACE, ".#{kind}"), File.join(PLACE, kind))
  $stdin.read
  exit!(0)
end

def child
  fork { own_work; say("child") }
end

def child_of_thread
  Thread.new { fork { own_work; say("child_of_thread") } }.value
end

def daemon
  fork do
    Process.setsid
    fork { own_work; say("daemon") }
    exit!(0)
  end
end

def executed
  fork do
    own_work
    sleep 2.2 # so that it is no young process any more
    exec(*ARGV, File.join(__dir__, "family_next.rb"), PLACE, "executed", $work_ns.to_s)
  end
end

def grandchild
  fork do
    own_work
    fork { own_work; say("grandchild") }
    say("between")
  end
end

from = ready[1]
zombie = fork { exit!(0) } # nobody waits for it
pids = [child, child_of_thread, executed, grandchild]
Process.wait(daemon)
work_ns = parent_work
sleep 0.02 until Dir.children(PLACE).reject { |name| name.start_with?(".") }.size >= 6
done(pid: Process.pid, before_ns: from, work_ns: work_ns, zombie: zombie)
pids.each { |pid| Process.wait(pid) }
