# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Wants to run all the time and knows how long it did not: spin_wall.rb SECONDS
require_relative "plain"

def spins_here(limit)
  nil while mono_now < limit
end

ready
from, cpu, delay = mono_now, cpu_now, run_delay_now
spins_here(from + (ARGV.fetch(0).to_f * 1e9).to_i)
cpu = cpu_now - cpu
done(tid: tid_now, cpu_ns: cpu, off_ns: mono_now - from - cpu, run_delay_ns: run_delay_now - delay)
