# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Two threads hand a token to and fro through queues. Answers "rounds N" with the CPU that the
# process used for it.
require_relative "common"

there = Queue.new
back = Queue.new
Thread.new { loop { back << there.pop } }
converse do |_, rounds|
  from = process_cpu_now
  rounds.to_i.times do
    there << 1
    back.pop
  end
  { cpu_ns: process_cpu_now - from, switches: 2 * rounds.to_i }
end
