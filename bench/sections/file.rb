# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  class FileSection < Section
    HOUR_SAMPLES = 3600 * 99
    BUDGET_BYTES = 10 * 1024 * 1024

    def run
      Table.section("file", "size of the pprof of a program like a web application (2,000 methods, 20 threads, " \
                            "depth about 100, one busy CPU), and what `report` of it takes")
      program = Program.ruby("rails_like.rb")
      seconds = size(60, 10)
      plain = record(program, seconds, 99)
      show("#{seconds} s at 99 Hz", plain)
      # As many samples as an hour has, in as many distinct stacks, without waiting for an hour.
      dense = record(program, seconds, 5940)
      show("#{seconds} s at 5,940 Hz", dense)
      hour(dense)
      memory(dense)
      report(dense)
      program.finish
    end

    private

    def record(program, seconds, hz)
      peak = nil
      recorder = Recorder.run("-p", program.pid, hz: hz) do |running|
        sleep seconds
        peak = Machine.memory_kb(running.pid, "VmHWM")
      end
      taken, fired = recorder.stats["ticks"].values_at("taken", "fired")
      { file: recorder.file, bytes: File.size(recorder.file), taken: taken, fired: fired, peak: peak,
        stacks: recorder.profile.samples.size,
        depth: Statistics.median(recorder.profile.samples.map { |s| s.stack.size }) }
    end

    def show(what, run)
      figure(what, kb(run[:bytes]), "#{run[:taken]} samples (#{run[:fired] - run[:taken]} lost) in #{run[:stacks]} rows, " \
                                    "median depth #{run[:depth]}, recorder #{Table.mb(run[:peak])}")
    end

    def kb(bytes) = format("%.0f KB", bytes / 1024.0)

    def hour(run)
      factor = HOUR_SAMPLES.to_f / run[:taken]
      bytes = run[:bytes] * factor
      figure("1 h at 99 Hz, one busy CPU", format("%.1f MB", bytes / 1024 / 1024),
             format("extrapolated: the last file, times %.2f for an hour's %d samples", factor, HOUR_SAMPLES),
             budget: "10 MB", over: bytes > BUDGET_BYTES)
    end

    # What a recording keeps grows with its distinct stacks.
    def memory(run)
      figure("recorder after so many samples, memory", Table.mb(run[:peak]), "VmHWM of `record` before it wrote",
             budget: "32 MB", over: run[:peak] > 32 * 1024)
    end

    def report(run)
      usages = Array.new(3) do
        JSON.parse(IO.popen([Bench.compiled("usage"), BINARY, "report", run[:file]], &:read)).tap do |usage|
          raise Unable, "report failed: #{usage["status"]}" unless usage["status"].zero?
        end
      end
      wall, peak = %w[wall_ns peak_kb].map { |key| Statistics.median(usages.map { |u| u[key] }) }
      figure("report of that file, time", Table.ms(wall), "median of #{usages.size}")
      figure("report of that file, memory", Table.mb(peak), "peak resident")
    end
  end
end
