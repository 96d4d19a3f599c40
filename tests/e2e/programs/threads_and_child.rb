# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Two threads and a child of one of them, each with work of its own, that live until its input
# ends: all ids as they are in its own pid namespace.
require_relative "plain"

def thread_work(seconds)
  burn(seconds)
end

def child_work
  burn(0.15)
end

from = ready[1]
told = Queue.new
{ "first" => 0.2, "second" => 0.1 }.each do |name, seconds|
  Thread.new do
    Thread.current.name = name
    thread_work(seconds)
    told << [name, tid_now]
    sleep
  end
end
tids = [told.pop, told.pop].to_h
child = Thread.new do
  reader, writer = IO.pipe
  pid = fork do
    child_work
    writer.puts("done")
    $stdin.read
    exit!(0)
  end
  reader.gets
  pid
end.value
done(pid: Process.pid, tids: tids, child: child, before_ns: from)
