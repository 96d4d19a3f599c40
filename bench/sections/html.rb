# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "open3"
require_relative "../../tests/e2e/pprof_write"

module Bench
  # How long a person waits for the page of -f html, from navigation to all of it drawn.
  class HtmlSection < Section
    BUDGET_MS = 3_000
    BROWSER = File.join(ROOT, "tests/e2e/browser/page.mjs")

    def run
      Table.section("html", "the page of `report -f html` in Chromium, until its first picture is complete")
      @npm, error, status = Open3.capture3(File.join(ROOT, "tests/npm/install"), "driver")
      raise Unable, "tests/npm/install: #{error}" unless status.success?

      opens("an empty profile, for comparison", page { nil }, budget: false)
      frames = Array.new(1_000) { |i| PprofWriter::Frame.new("level_#{i}", "deep.rb", i, i) }
      opens("1,000 frames deep", page { |writer| 100.times { |i| writer.add(frames.first(1_000 - i).reverse, {}, [1, 1]) } })
      opens("100,000 different stacks", page { |writer| PprofWriter.fill(writer, 100_000) })
    end

    private

    def page
      writer = PprofWriter.new
      yield writer
      profile = writer.write(Bench.new_file(".pb.gz"))
      file = Bench.new_file(".html")
      started = Bench.now
      raise Unable, "report failed" unless system(BINARY, "report", profile, "-o", file)

      [file, Bench.now - started]
    end

    def opens(what, (file, seconds), budget: true)
      times = Array.new(size(5, 2)) { open_ms(file) }
      ms = Statistics.median(times)
      how = format("median of %d; %.1f MB, written in %.2f s", times.size, File.size(file) / 1e6, seconds)
      return figure(what, format("%.0f ms", ms), how) unless budget

      figure(what, format("%.0f ms", ms), how, budget: "3 s", over: ms > BUDGET_MS)
    end

    def open_ms(file)
      out, error, status = Open3.capture3({ "RBPROF_NPM" => @npm.strip, "TMPDIR" => Bench.scratch, "HOME" => Bench.scratch },
                                          "node", BROWSER, file, "look", stdin_data: "")
      raise Unable, "the browser: #{error}" unless status.success?

      JSON.parse(out)["openMs"]
    end
  end
end
