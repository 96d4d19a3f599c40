# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  # tools/hour-profile.c says what the profile is made of.
  class FormatsSection < Section
    MAKER = ".output/hour-profile"
    BUDGET_BYTES = 10 * 1024 * 1024
    BUDGET_NS = 2_000_000_000
    BUDGET_KB = 300 * 1024
    PLAIN = %w[pprof folded speedscope firefox json text html].freeze

    def run
      Table.section("formats", "an hour at 99 Hz of a large application (2,000 methods, 100 threads, depth 150), " \
                               "made by #{MAKER}; `report -f FORMAT -o FILE` of it")
      said = IO.popen(["make", "-s", "-C", ROOT, MAKER], err: %i[child out], &:read)
      raise Unable, "#{MAKER} is not built: #{said.lines.last}" unless $?.success?

      plain = make
      file_size("pprof of the hour", plain, budget: true)
      PLAIN.each { |format| convert(format, plain) }
      return if @quick

      # A file of gigabytes: what slices within slices take.
      timeline = make("--timeline")
      file_size("the same with --timeline", timeline, budget: false)
      convert("chrome", timeline)
    end

    private

    def make(*options)
      file = Bench.new_file(".pb.gz")
      out = IO.popen([File.join(ROOT, MAKER), *options, file], err: %i[child out], &:read)
      raise Unable, "#{MAKER} failed: #{out}" unless $?.success?

      { file: file, rows: out[/\A.*functions/] }
    end

    def file_size(what, profile, budget:)
      bytes = File.size(profile[:file])
      budgets = budget ? { budget: "10 MB", over: bytes > BUDGET_BYTES } : {}
      figure(what, format("%.1f MB", bytes / 1024.0 / 1024), profile[:rows], **budgets)
    end

    # The best of some runs is the least disturbed one. To a file on disk, as people do.
    def convert(name, profile)
      usages = Array.new(@quick ? 1 : 3) { measure(name, profile) }
      best = usages.min_by { |usage| usage["wall_ns"] }
      peak = usages.map { |usage| usage["peak_kb"] }.max
      figure("#{name}, time", Table.ms(best["wall_ns"]),
             "best of #{usages.size}, CPU #{Table.ms(best["cpu_ns"])}, #{format("%.0f MB", best["bytes"] / 1e6)} written",
             budget: "2 s", over: best["wall_ns"] > BUDGET_NS)
      figure("#{name}, memory", Table.mb(peak), "peak resident", budget: "300 MB", over: peak > BUDGET_KB)
    end

    def measure(name, profile)
      out = Bench.new_file(".#{name}")
      usage = JSON.parse(IO.popen([Bench.compiled("usage"), BINARY, "report", "-f", name, "-o", out, profile[:file]], &:read))
      raise Unable, "report -f #{name} failed: #{usage["status"]}" unless usage["status"].zero?

      usage["bytes"] = File.size(out)
      File.unlink(out)
      usage
    end
  end
end
