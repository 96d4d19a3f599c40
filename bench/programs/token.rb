# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Two threads hand a token to and fro through queues. Answers "rounds N" with the CPU that the
# process used for it, and how often its threads left a CPU.
require_relative "common"

def switches
  Dir["/proc/self/task/*/status"].sum { |path| File.read(path).scan(/ctxt_switches:\s+(\d+)/).flatten.sum(&:to_i) }
end

there = Queue.new
back = Queue.new
Thread.new { loop { back << there.pop } }
converse do |_, rounds|
  before = switches
  from = process_cpu_now
  rounds.to_i.times do
    there << 1
    back.pop
  end
  used = process_cpu_now - from
  { cpu_ns: used, switches: switches - before }
end
