# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "fileutils"
require "json"
require_relative "pprof_write"

# Folders of runs as `gate run` writes them, of what each stack of a made-up program cost in each run.
module GateRuns
  HZ = 99
  ABOUT = {
    "format" => 1, "command" => ["ruby", "app.rb"], "ruby" => "3.1.2", "kernel" => "6.1.0", "cpu" => "Some CPU, 2 CPUs", "hz" => HZ,
    "work" => nil, "wall_ns" => 2_000_000_000, "gc_ns" => 50_000_000, "gc_count" => 40, "allocated" => 1_000_000, "lost" => 0,
    "status" => 0, "pair" => nil, "calibration_ns" => nil, "gc_source" => "vm", "started" => "2026-01-31T12:00:00Z",
    "version" => "test"
  }.freeze

  # name@file:line, root first, apart by ";".
  APP = {
    "<main>@/app/app.rb:1" => 100_000_000,
    "<main>@/app/app.rb:1;App#serve@/app/app.rb:10;Parser#parse@/app/parser.rb:20" => 600_000_000,
    "<main>@/app/app.rb:1;App#serve@/app/app.rb:10;Renderer#render@/app/renderer.rb:5" => 800_000_000,
    "<main>@/app/app.rb:1;App#report@/app/app.rb:30;Parser#parse@/app/parser.rb:20" => 200_000_000,
    "<main>@/app/app.rb:1;App#report@/app/app.rb:30" => 300_000_000,
  }.freeze

  class << self
    # The block is given the number of the run and gives [cost by stack, changes to run.json].
    def write(folder, count)
      (1..count).each do |number|
        costs, about = yield(number)
        write_run(File.join(folder, format("%03d", number)), costs, about || {})
      end
      folder
    end

    # A run's own noise by stack, and how slow the machine was in it, as factors.
    def costs(random, machine: 1.0, noise: 0.02, app: APP, **factors)
      app.to_h do |stack, ns|
        leaf = stack.split(";").last[/\A[^@]*/]
        [stack, (ns * machine * Math.exp(noise * normal(random)) * factors.fetch(leaf.to_sym, 1.0)).round]
      end
    end

    def normal(random) = Math.sqrt(-2 * Math.log(1 - random.rand)) * Math.cos(2 * Math::PI * random.rand)

    # An interleaved folder: the machine is as slow for both of a pair. head: factors by leaf.
    def interleaved(folder, pairs, head: {}, about: {}, head_about: {}, seed: 1, app: APP, noise: 0.02)
      random = Random.new(seed)
      machines = Array.new(pairs) { Math.exp(0.18 * normal(random)) }
      write(File.join(folder, "base"), pairs) do |n|
        [costs(random, machine: machines[n - 1], noise: noise), about.merge("pair" => n)]
      end
      write(File.join(folder, "head"), pairs) do |n|
        [costs(random, machine: machines[n - 1], noise: noise, app: app, **head), about.merge(head_about).merge("pair" => n)]
      end
      folder
    end

    def write_run(folder, costs, about)
      FileUtils.mkdir_p(folder)
      writer = PprofWriter.new
      costs.each do |stack, ns|
        frames = stack.split(";").reverse.map { |frame| frame_of(frame) }
        writer.add(frames, { "thread name" => "main" }, [(ns * HZ / 1e9).ceil, ns])
      end
      writer.write(File.join(folder, "profile.pb.gz"))
      cpu = costs.values.sum
      run = ABOUT.merge("cpu_ns" => cpu, "samples" => (cpu * HZ / 1e9).round).merge(about)
      File.write(File.join(folder, "run.json"), JSON.generate(run))
    end

    private

    def frame_of(text)
      name, place = text.split("@", 2)
      file, line = place.to_s.match(/\A(.*?)(?::(\d+))?\z/m).captures
      PprofWriter::Frame.new(name, file, line.to_i, line.to_i + 1)
    end
  end
end
