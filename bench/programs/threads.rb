# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Threads of all kinds at work for some time, each saying how much CPU it used by its own clock:
# answers "run SECONDS"
require_relative "common"
require "zlib"

BYTES = Random.new(1).bytes(200_000)

KINDS = {
  "busy" => -> { burn(2_000_000) },
  "bursts" => -> { burn(700_000) && sleep(0.004) },
  "naps" => -> { burn(20_000) && sleep(0.0005) },
  "rare" => -> { burn(100_000) && sleep(0.2) },
  "native" => -> { Zlib::Deflate.deflate(BYTES, 6) }, # runs beside the others: gives the GVL away
  "garbage" => -> { 400.times { |n| "text #{n}" * 3 } && sleep(0.001) }
}.freeze

def live(kind, ends)
  work = KINDS.fetch(kind)
  work.call while wall_now < ends
end

# The VM keeps native threads for later use, so this is run once only: each is new.
converse do |_, seconds|
  from = process_cpu_now
  ends = wall_now + (seconds.to_f * 1e9).to_i
  results = Queue.new
  kinds = KINDS.keys * 2
  kinds.each do |kind|
    Thread.new do
      live(kind, ends)
      results << { kind: kind, tid: Thread.current.native_thread_id, cpu_ns: cpu_now }
      sleep # so that its end is not in the recording
    end
  end
  list = kinds.map { results.pop }
  { threads: list, process_ns: process_cpu_now - from }
end
