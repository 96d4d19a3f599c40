# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# A C method that sleeps and keeps the GVL, beside one that computes in Ruby and in C, each of
# which knows how long it ran and how long not (C96): gvl_sleep.rb SECONDS
require_relative "plain"
require "zlib"
$VERBOSE = nil # syscall is of another age; it is a C function that keeps the GVL

NANOSLEEP = RUBY_PLATFORM.start_with?("x86_64") ? 35 : 101
BYTES = Random.new(1).bytes(3_000_000)
$asleep = 0
NUMBERS = Array.new(200_000) { |i| i * 7919 % 200_003 }

# A signal of the VM's own timer can end the system call early, and the VM can give the GVL away
# whenever a method written in Ruby returns: $asleep is the time that surely was in the call.
def held_sleep(seconds)
  limit = mono_now + (seconds * 1e9).to_i
  while (left = limit - mono_now).positive?
    time = [left / 1_000_000_000, left % 1_000_000_000].pack("q2")
    address = [time].pack("p").unpack1("J")
    begin
      from = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      syscall(NANOSLEEP, address, 0)
    rescue Errno::EINTR
      nil
    end
    $asleep += Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - from
  end
end

def holder_ruby
  burn(0.03)
end

def worker_ruby
  burn(0.05)
end

def c_zlib
  Zlib::Deflate.deflate(BYTES, 6)
end

def c_sort
  NUMBERS.sort_by { |x| -x }
end

# CPU and the rest, of each method.
def measured(spent, name)
  wall, cpu = mono_now, cpu_now
  yield
  cpu = cpu_now - cpu
  spent[name] = spent[name].zip([cpu, mono_now - wall - cpu]).map(&:sum)
end

def thread(name, limit)
  Thread.new do
    Thread.current.name = name
    spent = Hash.new([0, 0])
    yield spent while mono_now < limit
    { tid: tid_now, methods: spent.transform_values { |cpu, off| { cpu_ns: cpu, off_ns: off } } }
  end
end

ready
limit = mono_now + (ARGV.fetch(0).to_f * 1e9).to_i
holder = thread("holder", limit) do |spent|
  measured(spent, "held_sleep") { held_sleep(0.08) }
  measured(spent, "holder_ruby") { holder_ruby }
end
worker = thread("worker", limit) do |spent|
  measured(spent, "worker_ruby") { worker_ruby }
  measured(spent, "c_zlib") { c_zlib }
  measured(spent, "c_sort") { c_sort }
end
done(holder: holder.value, worker: worker.value, asleep_ns: $asleep)
