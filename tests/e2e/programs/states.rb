# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# A thread for each way to wait, which does nothing else until the end; runs on every Ruby since
# 2.7: states.rb [ADDRESS], the latter of the name server to ask, which is this program and never
# answers.
require_relative "plain"
require "monitor"
require "socket"

$threads = {}

# It is in that state from its first moments on.
def in_state(state, name)
  Thread.new do
    Thread.current.name = name
    $threads[name] = { tid: tid_now, state: state }
    yield
  end
end

lock = Mutex.new
monitor = Monitor.new
both = Monitor.new
condition = both.new_cond
plain = Mutex.new
signal = ConditionVariable.new
reader, $writer = IO.pipe
server = TCPServer.new("127.0.0.1", 0)
client = TCPSocket.new("127.0.0.1", server.addr[1])
$accepted = server.accept
left, $right = UNIXSocket.pair
datagrams = UDPSocket.new.tap { |socket| socket.bind("127.0.0.1", 0) }
path = "#{ENV.fetch("TRUTH")}.lock"
file = File.open(path, "w")
file.flock(File::LOCK_EX)
child = Process.spawn("sleep", "600")
full = SizedQueue.new(1) << 1

sleeper = in_state("sleeping", "sleep") { sleep(600) }
in_state("sleeping", "sleep forever") { sleep }
in_state("sleeping", "mutex owner") { lock.synchronize { sleep } }
in_state("sleeping", "monitor owner") { monitor.synchronize { sleep } }
sleep 0.2
in_state("blocked", "mutex") { lock.synchronize { nil } }
in_state("blocked", "monitor") { monitor.synchronize { nil } }
in_state("blocked", "join") { sleeper.join }
in_state("blocked", "timed join") { sleeper.join(600) }
in_state("waiting", "queue") { Queue.new.pop }
in_state("waiting", "sized queue") { full << 2 }
in_state("waiting", "condition variable") { plain.synchronize { signal.wait(plain) } }
in_state("waiting", "timed condition variable") { Mutex.new.tap { |m| m.synchronize { ConditionVariable.new.wait(m, 600) } } }
in_state("waiting", "monitor condition") { both.synchronize { condition.wait } }
in_state("waiting", "select") { IO.select([reader]) }
in_state("waiting", "timed select") { IO.select([reader], nil, nil, 600) }
in_state("waiting", "pipe") { reader.readpartial(1) }
in_state("waiting", "flock") { File.open(path).flock(File::LOCK_EX) }
in_state("waiting", "child") { Process.wait(child) }
in_state("network", "accept") { server.accept }
in_state("network", "tcp") { client.readpartial(1) }
in_state("network", "unix") { left.read }
in_state("network", "udp") { datagrams.recvfrom(16) }
if ARGV[0]
  UDPSocket.new.tap { |socket| ($mute = socket).bind(ARGV[0], 53) }
  in_state("network", "dns") { Addrinfo.getaddrinfo("never.example.", 80, nil, :STREAM) }
end
$threads["main"] = { tid: tid_now, state: "waiting" } # for its standard input, a pipe
sleep 0.5
ready
Process.kill(:KILL, child)
done($threads)
exit!(0)
