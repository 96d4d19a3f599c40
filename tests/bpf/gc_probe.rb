# SPDX-License-Identifier: BSD-2-Clause
# Collects garbage in several ways and says after each what the VM's own clock and counters tell,
# one line a phase: "NAME COUNT TIME_NS PROCESS_CPU_NS HOOK_ENTRIES HOOK_EXITS HOOK_NS". The hooks,
# if a library that counts them is named, are the VM's own events of entry and exit. Before each
# phase it waits for a line.
$stdout.sync = true
seconds = (ENV['GC_PROBE_SECONDS'] || 2).to_f
measured = GC.respond_to?(:measure_total_time)
measured ? GC.measure_total_time = true : GC::Profiler.enable

hooks = nil
if (path = ENV['GC_PROBE_HOOKS'])
  require 'fiddle'
  library = Fiddle.dlopen(path)
  Fiddle::Function.new(library['gc_probe_hooks_start'], [], Fiddle::TYPE_VOID).call
  hooks = Fiddle::Pointer.new(library['gc_probe_hooks'])
end

clock = lambda do
  # GC.stat(:time) is the same in milliseconds; 2.7 has times of some phases only.
  vm = if GC.respond_to?(:total_time) then GC.total_time
       elsif measured then GC.stat(:time) * 1_000_000
       else (GC::Profiler.total_time * 1e9).round
       end
  seen = hooks ? hooks[0, 24].unpack('Q3') : [0, 0, 0]
  [GC.count, vm, Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond), *seen]
end

phase = lambda do |name, &work|
  $stdin.gets or exit
  GC::Profiler.clear unless measured
  before = clock.call
  GC.enable
  work.call(Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds)
  GC.disable # finishes what has begun: no step falls between two phases
  after = clock.call
  puts "#{name} #{after.zip(before).map { |a, b| a - b }.join(' ')}"
end
over = ->(deadline) { Process.clock_gettime(Process::CLOCK_MONOTONIC) >= deadline }

GC.disable
puts "ready #{Process.pid} #{RUBY_VERSION}"
phase.call('alloc') do |deadline|
  10_000.times { |i| [i.to_s, { i => 'x' * 50 }] } until over[deadline]
end
phase.call('start') { |deadline| GC.start until over[deadline] }
phase.call('minor') { |deadline| GC.start(full_mark: false) until over[deadline] }
if GC.respond_to?(:compact)
  phase.call('compact') { |deadline| GC.compact until over[deadline] }
end
$live = nil
phase.call('fill') { $live = Array.new(600_000) { |i| [i, i.to_s] } }
phase.call('incremental') do |deadline|
  until over[deadline]
    20_000.times { |i| $live[(i * 7919) % $live.size] = [i, 'y' * 30, i.to_s] }
  end
end
phase.call('threads') do |deadline|
  Array.new(4) do
    Thread.new { 1000.times { |i| [i.to_s, [i]] } until over[deadline] }
  end.each(&:join)
end
phase.call('idle') { sleep 0.3 }
$stdin.gets # what the end of the process collects belongs to no phase
