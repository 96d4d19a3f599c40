# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# One thread for each way to wait.
require_relative "common"
require "monitor"
require "socket"

$tids = {}

def named(name)
  Thread.new do
    Thread.current.name = name
    $tids[name] = Thread.current.native_thread_id
    yield
  end
end

lock = Mutex.new
monitor = Monitor.new
both = Monitor.new
condition = both.new_cond
plain = Mutex.new
signal = ConditionVariable.new
full = SizedQueue.new(1) << 1
reader, $writer = IO.pipe
server = TCPServer.new("127.0.0.1", 0)
left, $right = UNIXSocket.pair
file = File.open(ENV.fetch("TRUTH") + ".lock", "w")
file.flock(File::LOCK_EX)
child = Process.spawn("sleep", "600")
one, two = Mutex.new, Mutex.new
barrier = Queue.new

named("mutex owner") { lock.synchronize { sleep } }
named("monitor owner") { monitor.synchronize { sleep } }
sleeper = named("sleeper") { sleep 600 }
sleep 0.1
named("mutex") { lock.lock }
named("synchronize") { lock.synchronize { nil } }
named("monitor") { monitor.synchronize { nil } }
named("condition variable") { plain.synchronize { signal.wait(plain) } }
named("monitor condition") { both.synchronize { condition.wait } }
named("queue") { Queue.new.pop }
named("sized queue") { full.pop && full.pop }
sleep 0.1
filled = SizedQueue.new(1) << 1
named("queue room") { filled << 2 }
named("join") { sleeper.join }
named("value") { sleeper.value }
named("timed join") { sleeper.join(600) }
named("pipe") { reader.read }
named("accept") { server.accept }
named("socket") { left.read }
named("select") { IO.select([reader, left]) }
named("file lock") { File.open(file.path).flock(File::LOCK_EX) }
named("child") { Process.wait(child) }
named("stop") { Thread.stop }
named("a\e[31m\nb") { sleep }
Warning[:experimental] = false
$ractor = Ractor.new(name: "a ractor") { Ractor.receive }
named("ractor") { $ractor.take }
named("fiber") { Fiber.new { sleep }.resume }
named("own fiber") do
  own = Mutex.new
  Fiber.new { own.lock && Fiber.yield }.tap { |fiber| $fiber = fiber }.resume
  own.lock
end
[["left", one, two], ["right", two, one]].each do |name, mine, other|
  named(name) do
    mine.synchronize do
      barrier << 1
      sleep 0.01 until barrier.size == 2
      other.synchronize { nil }
    end
  end
end
circle = Queue.new
first = named("joins second") { circle.pop.join }
circle << named("joins first") { first.join }
sleep 0.6
sleep 0.05 until Thread.list.all? { |thread| thread == Thread.current || thread.stop? }
ready
Process.kill(:KILL, child)
done($tids)
exit!(0)
