# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "../../tests/e2e/pprof_write"

module Bench
  # How often the gate is wrong. Null comparisons and slower heads are drawn from real runs of one
  # program, each judged by the binary itself. GATE_RUNS: a folder of interleaved runs of equal
  # commands (bench/programs/gate.rb), of which the more pairs the better; else they are made here.
  class GateSection < Section
    PROGRAM = File.join(PROGRAMS, "gate.rb")
    SLOW = "Work#part"
    HZ = 1999 # of a method of 30 % in a second 600 ticks: scatter by sampling alone 4 %
    SIDES = %w[base head].freeze

    # A run as it was recorded, and what it would have been with the method a fifth slower.
    Run = Struct.new(:json, :profile, :slower_json, :slower_profile)

    def run
      Table.section("gate", "verdicts of the gate on comparisons whose truth is known; drawn from real runs, in pairs " \
                            "(interleaved) or not, alpha 0.01, limit 5 %")
      @random = Random.new(1)
      @pairs = read(ENV["GATE_RUNS"] || record(size(50, 8)))
      about_runs
      false_alarms
      detection
      real_regression unless ENV["GATE_RUNS"]
      allocations
    end

    private

    def record(pairs, factor = 1, objects = 0)
      folder = Bench.new_file("")
      said = IO.popen([BINARY, "gate", "run", "-n", pairs.to_s, "--warmup", "1", "-F", HZ.to_s, "--interleave", "#{RUBY} #{PROGRAM}",
                       "-o", folder, "--", RUBY, PROGRAM, factor.to_s, objects.to_s], err: %i[child out], &:read)
      raise Unable, said.lines.last.to_s.chomp unless $?.success?

      folder
    end

    # ---- the runs ----

    def read(folder)
      runs = SIDES.map do |side|
        Dir.glob(File.join(folder, side, "*/run.json")).sort.map { |path| read_run(path) }
      end
      raise Unable, "#{folder} has no pairs of runs" if runs.any?(&:empty?)

      runs[0].zip(runs[1]).select(&:all?)
    end

    def read_run(path)
      profile = path.sub("run.json", "profile.pb.gz")
      json = JSON.parse(File.read(path))
      slower = Bench.new_file(".pb.gz")
      more = slow_down(profile, slower)
      Run.new(json, profile, json.merge("cpu_ns" => json["cpu_ns"] + more), slower)
    end

    # Every sample in the method a fifth longer; how much that is in all.
    def slow_down(from, to)
      writer = PprofWriter.new
      more = 0
      Pprof.read(from).samples.each do |sample|
        ns = sample.values["cpu-time"]
        added = sample.names.include?(SLOW) ? ns / 5 : 0
        more += added
        frames = sample.stack.map { |f| PprofWriter::Frame.new(f.name, f.file, f.start_line, f.line) }
        writer.add(frames, {}, [sample.values["cpu-samples"], ns + added])
      end
      writer.write(to)
      more
    end

    def about_runs
      runs = @pairs.flatten
      share = Statistics.mean(runs.map { |r| (r.slower_json["cpu_ns"] - r.json["cpu_ns"]) * 5.0 / r.json["cpu_ns"] })
      figure("runs", runs.size.to_s, format("%s holds %.1f %% of the CPU; %.2f s each", SLOW, share * 100,
                                            Statistics.mean(runs.map { |r| r.json["cpu_ns"] }) / 1e9))
      [["as it is", nil], ["calibrated", "calibration_ns"]].each do |name, by|
        next if by && runs.any? { |r| r.json[by].nil? }

        cost = ->(run) { Math.log(run.json["cpu_ns"].to_f / (by ? run.json[by] : 1)) }
        figure("scatter of CPU, #{name}", percent(deviation(runs.map(&cost))),
               format("of one run; of head against base in a pair %s", percent(deviation(@pairs.map { |a, b| cost[b] - cost[a] }))))
      end
      allocated = runs.map { |r| r.json["allocated"] }.compact
      figure("range of allocated", format("%.5f %%", (allocated.max - allocated.min) * 100.0 / allocated.max), "of all runs") if allocated.any?
    end

    def percent(share) = format("%.1f %%", share * 100)

    def deviation(list)
      mean = Statistics.mean(list)
      Math.sqrt(list.sum { |x| (x - mean)**2 } / (list.size - 1))
    end

    # ---- comparisons ----

    # Of so many pairs; each with its sides exchanged by lot, so that nothing but chance is between them.
    def null_pairs(count) = Array.new(count) { @pairs.sample(random: @random).shuffle(random: @random) }

    def compare(pairs, *options, paired: true)
      folder = Bench.new_file("")
      names = paired ? SIDES : %w[before after]
      pairs.each_with_index do |pair, i|
        pair.zip(names).each { |(json, profile), name| link(File.join(folder, name, format("%03d", i + 1)), json, profile, paired && i + 1) }
      end
      out = IO.popen([BINARY, "gate", "compare", *names.map { |n| File.join(folder, n) }, "-f", "json", "-q", *options], &:read)
      JSON.parse(out)
    ensure
      FileUtils.rm_rf(folder)
    end

    def link(folder, json, profile, pair)
      FileUtils.mkdir_p(folder)
      File.symlink(File.expand_path(profile), File.join(folder, "profile.pb.gz"))
      File.write(File.join(folder, "run.json"), JSON.generate(json.merge("pair" => pair || nil)))
    end

    def plain(run) = [run.json, run.profile]
    def slower(run) = [run.slower_json, run.slower_profile]

    def rate(count) = (1..count).count { yield }

    # Of 1,000 at 1 % no more than 10 + 3 * sqrt(10) are to be expected.
    def false_alarms
      count = size(1000, 100)
      [["10 pairs", true], ["10 runs a side, no pairs", false]].each do |name, paired|
        alarms = rate(count) do
          pairs = paired ? null_pairs(10) : @pairs.flatten.sample(20, random: @random).each_slice(2).to_a
          compare(pairs.map { |pair| pair.map { |run| plain(run) } }, paired: paired)["status"] == 1
        end
        figure("false alarms, #{name}", "#{alarms} of #{count}", "equal commands", budget: "1 %",
                                                                                 over: alarms > count * 0.01 + 3 * Math.sqrt(count * 0.01))
      end
    end

    def detection
      count = size(200, 40)
      [7, 8, 10, 12, 15, 20, 30].each do |number|
        found = rate(count) { finds?(null_pairs(number)) }
        figure("a method of 30 % slower by 20 %, #{number} pairs", format("%.1f %%", found * 100.0 / count), "found, of #{count}",
               budget: number == 10 ? "95 %" : nil, over: number == 10 ? found < count * 0.95 : nil)
      end
    end

    def finds?(pairs)
      result = compare(pairs.map { |base, head| [plain(base), slower(head)] })
      result["functions"].any? { |f| f["name"] == SLOW && f["verdict"] == "regression" }
    end

    # Not drawn: runs of a program that is slower.
    def real_regression
      pairs = read(record(size(20, 8), 1.2))
      result = compare(pairs.map { |pair| pair.map { |run| plain(run) } })
      found = result["functions"].find { |f| f["name"] == SLOW && f["kind"] == "total" }
      figure("the same for real, #{pairs.size} pairs", found["verdict"],
             format("%+.1f %% (%+.1f to %+.1f), p %.4f", *found.values_at("change", "low", "high").map { |x| x.to_f * 100 }, found["p"]))
    end

    def allocations
      count = size(200, 40)
      extra = 400 * 1500 # an object for each row of each turn
      found = rate(count) do
        pairs = null_pairs(3).map { |base, head| [plain(base), [head.json.merge("allocated" => head.json["allocated"] + extra), head.profile]] }
        compare(pairs, "--metrics", "allocated")["status"] == 1
      end
      figure("an object more an iteration, 3 runs", "#{found} of #{count}", "found", budget: "all", over: found < count)
      alarms = rate(count) { compare(null_pairs(3).map { |pair| pair.map { |run| plain(run) } }, "--metrics", "allocated,gc-count")["status"] == 1 }
      figure("false alarms of counters, 3 runs", "#{alarms} of #{count}", "equal commands", budget: "1 %", over: alarms > count * 0.03)
    end
  end
end
