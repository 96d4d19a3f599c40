# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  # A run of `record`.
  class Recorder
    LONGEST_SECONDS = 900 # it ends itself, should nobody do it

    attr_reader :pid, :file, :spawned_ns

    # arguments: targets and further options.
    def initialize(*arguments, hz: 99, seconds: LONGEST_SECONDS, suffix: ".pb.gz")
      @file = Bench.new_file(suffix)
      @said = Bench.new_file(".err")
      @names_processes = arguments.include?("-p")
      @seconds = seconds
      @spawned_ns = Bench.now_ns
      @pid = Children.spawn(BINARY, "record", *arguments.map(&:to_s), "-F", hz.to_s, "-d",
                            format("%dms", seconds * 1000), "-o", @file, "--stats=json", "-q",
                            in: File::NULL, out: File::NULL, err: @said)
    end

    # Records while the block runs, or for its own time, and comes back when it is written.
    def self.run(*arguments, **options)
      recorder = new(*arguments, **options)
      recorder.wait_started
      yield recorder if block_given?
      block_given? ? recorder.stop : recorder.wait
      recorder
    end

    # The timer of each CPU stands among its files; then time for what follows on that.
    def wait_started
      Bench.wait_until(20, "the profiler to start") do
        raise Unable, "the profiler ended: #{said}" if ended?

        KernelSide.timer_count(@pid) >= Etc.nprocessors
      end
      sleep 0.3
    end

    def stop
      Process.kill(:INT, @pid) unless ended?
      wait
    end

    def wait
      @status ||= Children.wait(@pid, @seconds + 120)
      raise Unable, "the profiler does not end" unless @status
      raise Unable, "the profiler failed (#{@status}): #{said}" unless @status.success?

      check_all_read if @names_processes
      self
    end

    # Without a last word.
    def kill = Children.kill(@pid)

    def said = File.exist?(@said) ? File.read(@said).scrub.strip : ""
    def profile = @profile ||= Pprof.read(@file)

    def stats
      @stats ||= JSON.parse(said[/^\{.*\}$/m] || raise(Unable, "no statistics: #{said}"))
    end

    def stats_of(pid)
      stats["processes"].find { |p| p["pid"] == pid } || raise(Unable, "process #{pid} is not in the profile")
    end

    private

    # A process that was refused costs nothing: its figures would say nothing.
    def check_all_read
      refused = stats["processes"].reject { |p| p["ok"] }
      raise Unable, "the profiler cannot read process #{refused.first["pid"]}: #{said.lines.first}" if refused.any?
    end

    def ended? = !(@status ||= Children.wait(@pid, 0)).nil?
  end
end
