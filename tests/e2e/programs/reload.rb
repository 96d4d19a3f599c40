# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Code that is defined, run, freed and compacted away again and again: reload.rb GENERATIONS
# Each generation has its own names and its own file.
require_relative "common"

truth = {}
ready
ARGV.fetch(0).to_i.times do |i|
  mod = Module.new
  mod.module_eval(<<~RUBY, "gen#{i}.rb", 1)
    def self.clock = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
    def self.gen_#{i}(limit) = (nil while clock < limit)
  RUBY
  from = cpu_now
  mod.send("gen_#{i}", from + 50_000_000)
  truth["gen_#{i}"] = cpu_now - from
  mod = nil
  GC.start
  GC.compact if (i % 3).zero?
end
done(truth)
