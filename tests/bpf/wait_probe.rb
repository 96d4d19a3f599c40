# SPDX-License-Identifier: BSD-2-Clause
# Threads that wait, each in its own way. A thread is named after the state that it is to be seen
# in. At the first line from the outside all begin to wait; at the second, those named `busy` want the
# GVL, which one of them keeps.
require 'fiddle'
require 'monitor'
require 'resolv'
require 'socket'
require 'tmpdir'

Thread.current.name = 'waiting/main'
Thread.report_on_exception = false
$gates = []

# A thread that begins to wait when its gate opens.
def named(name)
  gate = Queue.new
  $gates << gate
  Thread.new do
    Thread.current.name = name
    gate.pop
    yield
  end
end

def deep(frames, &wait)
  frames.zero? ? wait.call : deep(frames - 1, &wait)
end

lock, other = Mutex.new, Mutex.new
monitor, both = Monitor.new, Monitor.new
condition = both.new_cond
signal = ConditionVariable.new
reader, $writer = IO.pipe
server = TCPServer.new('127.0.0.1', 0)
left, $right = UNIXSocket.pair
tcp = TCPSocket.new('127.0.0.1', server.addr[1])
$accepted = server.accept
silent = UDPSocket.new.tap { |s| s.bind('127.0.0.1', ENV['WAIT_PROBE_DNS'] ? 53 : 0) } # a name server that never answers
file = File.open(File.join(Dir.mktmpdir, 'lock'), 'w')
file.flock(File::LOCK_EX)
child = Process.spawn('sleep', '600')
full = SizedQueue.new(1) << 1

sleeper = named('sleeping/sleep 600') { sleep 600 }
named('sleeping/sleep') { sleep }
named('sleeping/mutex owner') { lock.synchronize { sleep } }
named('sleeping/monitor owner') { monitor.synchronize { sleep } }
named('sleeping/stop') { Thread.stop }
named('sleeping/mutex sleep') { m = Mutex.new.lock && Mutex.new; m.lock; m.sleep(600) }
named('sleeping/deep') { deep(96) { sleep 600 } }
named('sleeping/fiber') { Fiber.new { sleep 600 }.resume }
named('sleeping/select for nothing') { IO.select(nil, nil, nil, 600) }
named('blocked/lock') { lock.lock }
named('blocked/synchronize') { lock.synchronize { nil } }
named('blocked/monitor') { monitor.synchronize { nil } }
named('blocked/join') { sleeper.join }
named('blocked/join 600') { sleeper.join(600) }
named('blocked/value') { sleeper.value }
named('waiting/queue') { Queue.new.pop }
named('waiting/queue deq') { Queue.new.deq }
named('waiting/queue shift') { Queue.new.shift }
named('waiting/queue room') { full << 2 }
named('waiting/queue push') { full.push(2) }
named('waiting/queue enq') { full.enq(2) }
named('waiting/sized queue') { SizedQueue.new(1).pop }
named('waiting/queue 600') { Queue.new.pop(timeout: 600) } if RUBY_VERSION >= '3.2'
named('waiting/condition') { other.synchronize { signal.wait(other) } }
named('waiting/condition 600') { (m = Mutex.new).synchronize { signal.wait(m, 600) } }
named('waiting/monitor condition') { both.synchronize { condition.wait } }
named('waiting/pipe') { reader.read }
named('waiting/pipe readable') { IO.pipe.first.wait_readable }
named('waiting/select') { IO.select([reader, left]) }
named('waiting/flock') { File.open(file.path).flock(File::LOCK_EX) }
named('waiting/child') { Process.wait(child) }
named('waiting/system') { system('exec sleep 600') }
named('waiting/backtick') { `exec sleep 600` }
named('network/accept') { server.accept }
named('network/socket') { left.read(1) }
named('network/recv') { tcp.recv(1) }
named('network/gets') { tcp.gets }
named('network/readable') { left.wait_readable }
named('network/udp') { UDPSocket.new.tap { |s| s.bind('127.0.0.1', 0) }.recvfrom(1) }
named('network/resolv') do
  Resolv::DNS.open(nameserver_port: [['127.0.0.1', silent.addr[1]]]) { |r| r.timeouts = 600; r.getaddress('a.b.invalid') }
end
named('network/resolver') { Addrinfo.getaddrinfo('a.b.invalid', 80) } if ENV['WAIT_PROBE_DNS']
named('network/connect by name') { TCPSocket.new('a.b.invalid', 80) } if ENV['WAIT_PROBE_DNS']

if RUBY_VERSION >= '3.0'
  Warning[:experimental] = false
  receiver = Ractor.new { Thread.current.name = 'waiting/ractor'; 2.times { Ractor.receive } }
  napper = Ractor.new { Thread.current.name = 'sleeping/ractor'; Ractor.receive && sleep(600) }
  named('waiting/take') { [receiver, napper].each { |ractor| ractor << 1 } && napper.take }
end
# Fiddle gives up the GVL and names no way to wake what it calls.
native = ->(name, **options) { Fiddle::Function.new(Fiddle::Handle::DEFAULT[name], [Fiddle::TYPE_INT], Fiddle::TYPE_INT, **options) }
named('sleeping/native') { native['sleep'].call(600) }
3.times { |i| named("waiting for gvl/busy #{i}") { loop { sleep 0.005 } } }
$hog = Queue.new
if RUBY_VERSION >= '3.0'
  named('sleeping/busy with the gvl') { $hog.pop && native['usleep', need_gvl: true].call(3_000_000) }
else
  named('had cpu/busy with the gvl') { $hog.pop && (1 << 24_000_000).to_s }
end
sleep 0.2
$stdout.sync = true
puts "ready #{Process.pid} #{RUBY_VERSION}"
$stdin.gets
$gates.first(9).each { |gate| gate << 1 } # those who own come first
sleep 0.2
$gates.drop(9).each { |gate| gate << 1 }

sleep 0.4
puts 'waiting'
$stdin.gets
puts 'busy'
$hog << 1
sleep 0.1 # for as long as the GVL is kept
$stdin.gets
puts 'done'
$stdin.read
Dir['/proc/self/task/*/children'].flat_map { |list| File.read(list).split }.each { |pid| Process.kill(:KILL, pid.to_i) }
File.delete(file.path)
Dir.rmdir(File.dirname(file.path))
exit!(0)
