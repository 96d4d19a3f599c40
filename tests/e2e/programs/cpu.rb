# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Threads of all kinds, each saying at its end how much CPU it used.
require_relative "common"
require "zlib"

results = Queue.new
# The VM keeps native threads and uses them again: what counts is the native thread's clock.
note = lambda do |kind, from = 0|
  results << { kind: kind, tid: Thread.current.native_thread_id, cpu_ns: cpu_now - from }
end

def early_work = burn(0.4)
def small_work = burn(0.3)
def large_work = burn(0.9)
def tiny_work = burn(0.003)

gate = Queue.new
end_gate = Queue.new
Thread.new do
  Thread.current.name = "early"
  gate.pop
  from = cpu_now
  early_work
  note.call("early", from)
  end_gate.pop
end
bytes = Random.new(1).bytes(1_000_000)

ready
process_from = process_cpu_now
gate << 1
Thread.new { Thread.current.name = "small"; small_work; note.call("small") }
Thread.new { Thread.current.name = "large"; large_work; note.call("large") }
# Runs beside the others: the VM is not held while zlib works.
Thread.new do
  Thread.current.name = "native"
  8.times { Zlib::Deflate.deflate(bytes, 9) }
  note.call("native")
end
Thread.new do
  Thread.current.name = "sleeper"
  1_500.times { sleep 0.0005 }
  note.call("sleeper")
end
40.times do |i|
  Thread.new { Thread.current.name = "tiny #{i}"; gate.pop; tiny_work; note.call("tiny"); end_gate.pop }
end
burn(0.05)
40.times { gate << 1 }
sleep 0.01 until results.size >= 45

list = Array.new(results.size) { results.pop }
done(threads: list, process_ns: process_cpu_now - process_from)
