# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  class NamesSection < Section
    BUDGET = 0.005
    NAMELESS = ["(gone)", "(unreadable)"].freeze

    def run
      Table.section("names", "share of frames without a name, (gone) or (unreadable), of all frames of the " \
                             "samples (each as often as it was hit)")
      loading
      short_lives
    end

    private

    # A heap like an application's, and one so small that a collection comes every millisecond.
    def loading
      seconds = size(10, 5)
      [500_000, 0].product([99, 997]) do |live, hz|
        program = Program.ruby("loader.rb", live)
        truth = nil
        recorder = Recorder.run("-p", program.pid, hz: hz) { truth = program.ask("run #{seconds}") }
        report("loads code, #{live.positive? ? "large" : "tiny"} heap, #{hz} Hz", recorder, recorder.profile.of(program.pid),
               "#{truth["loaded"] / seconds} files loaded and #{truth["collections"] / seconds} collections a second")
        program.finish
      end
    end

    # One after another, so that each is new to a recording of the whole host.
    def short_lives
      pids = []
      cpu_ns = 0
      recorder = Recorder.run("-a") do
        limit = Bench.now + size(20, 6)
        while Bench.now < limit
          pid = Children.spawn(RUBY, File.join(PROGRAMS, "short.rb"))
          Children.wait(pid, 10)
          pids << pid
        end
      end
      samples = recorder.profile.samples.select { |s| pids.include?(s.pid) }
      cpu_ns = recorder.stats["processes"].select { |p| pids.include?(p["pid"]) }.sum { |p| p["kernel_cpu_ns"] }
      report("short processes (-a)", recorder, samples,
             "#{pids.size} processes, #{(cpu_ns / 1e6 / pids.size).round} ms CPU each")
      unknown = samples.sum { |s| s.frame?("(runtime not yet known)") ? s.cpu : 0 }
      figure("  CPU before the runtime was known", Table.percent(unknown.to_f / cpu_ns),
             "of their CPU; includes the start of the interpreter")
    end

    def report(what, recorder, samples, how)
      all = samples.sum { |s| hits(s) * s.stack.size }
      raise Unable, "no samples of the processes" if all.zero?

      nameless = samples.sum { |s| hits(s) * s.stack.count { |f| NAMELESS.include?(f.name) } }
      share = nameless.to_f / all
      figure(what, Table.percent(share, 3), "#{nameless} of #{all} frames in #{samples.sum { |s| hits(s) }} samples; #{how}",
             budget: Table.percent(BUDGET, 1), over: share > BUDGET)
      errors = recorder.stats["errors"]
      note("  reasons: #{errors.map { |k, n| "#{k} #{n}" }.join(", ")}") if errors.any?
    end

    def hits(sample) = sample.values.fetch("cpu-samples", 1)
  end
end
