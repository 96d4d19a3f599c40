# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  class OthersSection < Section
    BUDGET = 0.01
    MAPPINGS = 20_000
    RATE = 500
    CHANGES = [0, 1_000, 20_000].freeze # a second
    NAME = "bench-sleeper"

    def run
      Table.section("others", "our own process (schedstat) while `record` watches one Ruby that sleeps, 99 Hz, and " \
                              "others of the host, that are not Ruby, do this; share of one CPU. --comm: every " \
                              "process of the host is looked at, but other Rubies do not count")
      nothing
      short_processes(:comm)
      short_processes(:pid)
      CHANGES.each { |rate| mappings(rate) }
    end

    private

    def seconds = size(10, 3)

    def nothing
      recorded(:comm) { |pid| report("nothing, --comm", pid) { sleep(seconds) && nil } }
    end

    # Two at a time, so that they leave room for us on two CPUs.
    def short_processes(target)
      spawner = Program.new(Bench.compiled("spawner"), "/bin/true")
      recorded(target) do |pid|
        report("#{RATE} short processes a second, #{target == :pid ? "-p" : "--comm"}", pid) do
          done = spawner.ask("#{RATE} #{seconds}")
          format("%d started a second", done["started"] / (done["ns"] / 1e9))
        end
      end
      spawner.finish
    end

    def mappings(rate)
      limit = File.read("/proc/sys/vm/max_map_count").to_i
      return note("vm.max_map_count is #{limit}") if limit < MAPPINGS + 1_000

      mapper = Program.new(Bench.compiled("mapper"), MAPPINGS)
      recorded(:comm) do |pid|
        what = rate.zero? ? "#{MAPPINGS} mappings" : "#{MAPPINGS} mappings, #{rate} replaced a second"
        report(what, pid) do
          next sleep(seconds) && nil if rate.zero?

          done = mapper.ask("#{rate} #{seconds}")
          format("%d replaced a second", done["replaced"] / (done["ns"] / 1e9))
        end
      end
      mapper.finish
    end

    def recorded(target)
      sleeper = Program.new(named_ruby, File.join(PROGRAMS, "sleepers.rb"), 1)
      Recorder.run(*(target == :comm ? ["--comm", NAME] : ["-p", sleeper.pid])) do |running|
        sleep 3 # what it does at its start is no part of this
        yield running.pid
      end
      sleeper.finish
    end

    def named_ruby
      @named_ruby ||= Bench.new_file("").tap { |folder| Dir.mkdir(folder) }.then { |folder| File.join(folder, NAME) }
                           .tap { |link| File.symlink(RUBY, link) }
    end

    def report(what, pid)
      share = said = nil
      runs = KernelSide.measure(pid) do
        from, start = Machine.cpu_ns(pid), Bench.now_ns
        said = yield
        share = (Machine.cpu_ns(pid) - from).to_f / (Bench.now_ns - start)
      end
      figure(what, Table.percent(share), [("#{said}," if said.is_a?(String)), life(runs), "load #{Machine.load_average}"]
                                           .compact.join(" "),
             budget: Table.percent(BUDGET, 1), over: share > BUDGET)
    end

    # What we add to those processes themselves, by the kernel's account.
    def life(runs)
      own = runs.values_at("on_fork", "on_exec", "on_exit").compact
      format("in the kernel %d times %s;", own.sum { |run| run[:count] },
             Table.us(own.sum { |run| run[:ns] } / [own.sum { |run| run[:count] }, 1].max.to_f))
    end
  end
end
