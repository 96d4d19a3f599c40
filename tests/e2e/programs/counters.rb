# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# What the VM counts: objects and collections, of a process and of children that end in every way.
# counters.rb OBJECTS [CHILD...]; each process adds a line to TRUTH: objects and collections of its
# own. Runs on Ruby 2.7, too.

def figures
  [GC.stat(:total_allocated_objects), GC.count]
end

def tell(from)
  line = figures.zip(from).map { |now, before| now - before }
  File.open(ENV.fetch("TRUTH"), "a") { |file| file.write("#{line.join(" ")}\n") }
end

def allocate(count)
  count.times { Object.new }
end

objects = Integer(ARGV.shift)
main = Process.pid
at_exit { tell([0, 0]) if Process.pid == main }
at_exit { allocate(1000) if Process.pid == main } # runs before the other

File.write(ENV["RBPROF_WORK"], "#{objects}\n") if ENV["RBPROF_WORK"]
threads = Array.new(3) { Thread.new { allocate(objects) } }
threads.each(&:join)

ARGV.each do |how|
  from = figures
  pid = fork do
    allocate(objects * 2)
    at_exit { tell(from) } if how == "ends"
    next if how == "ends"

    tell(from)
    case how
    when "exit!" then exit!
    when "exec" then exec("true")
    when "killed"
      Process.kill(:KILL, Process.pid)
      sleep
    end
  end
  Process.wait(pid)
end
system("true")
`true`
