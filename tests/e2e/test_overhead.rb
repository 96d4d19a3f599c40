# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# What the kernel charged to threads for our work.
class TestOverhead < E2E
  once(:seen_at) do |hz|
    program = Program.new("cpu.rb")
    profiler = Profiler.start("-p", program.pid, "-F", hz, "--stats=json")
    program.run
    profiler.stop
    program.finish
    assert_code 0, profiler
    samples = profiler.profile.of(program.pid)
    { profiler: profiler, truth: program.truth, pid: program.pid, samples: samples,
      overhead: samples.select(&:overhead?), row: profiler.stats_of(program.pid) }
  end

  def share(run) = run[:overhead].sum(&:cpu).fdiv(run[:truth]["process_ns"])

  def test_it_is_seen_at_a_high_rate
    overhead = seen_at(4999)[:overhead]
    refute_empty overhead
    overhead.each do |sample|
      assert_equal ["Profiler Overhead"], sample.names
      assert_equal "<rbprof>", sample.stack[0].file
      assert_equal [0, 0, 1], [sample.ticks, sample.wall, sample.labels["profiler overhead"]]
      assert_empty sample.labels.keys & ["state", "event", "end_timestamp_ns"]
      assert_match(/\A\d+ \((-1|\d+)\)\z/, sample.labels["thread id"])
    end
    assert_operator overhead.sum(&:cpu), :>, 0
    assert_operator share(seen_at(4999)), :<, 0.3
  end

  def test_it_is_one_sample_a_thread
    overhead = seen_at(4999)[:overhead]
    assert_operator overhead.map(&:tid).size, :>, 2
    assert_equal overhead.map(&:tid).uniq, overhead.map(&:tid)
  end

  # More ticks, more work.
  def test_it_grows_with_the_rate
    assert_operator share(seen_at(4999)), :>, share(seen_at(99)) * 3
  end

  [99, 4999].each do |hz|
    define_method("test_the_process_closes_at_#{hz}_hz") do
      run = seen_at(hz)
      kernel, threads, gc, overhead, off = %w[kernel_cpu_ns samples_cpu_ns gc_cpu_ns overhead_cpu_ns cpu_diff_ns]
                                           .map { |name| figure(run[:row], name, "the process") }
      assert_equal kernel - threads - gc - overhead, off
      assert_operator off.abs, :<=, [kernel * 0.005, 1_000_000].max
      assert_equal overhead, run[:overhead].sum(&:cpu)
      assert_cpu run[:truth]["process_ns"], run[:samples].sum(&:cpu), "process at #{hz} Hz"
    end

    define_method("test_each_thread_closes_at_#{hz}_hz") do
      run = seen_at(hz)
      run[:truth]["threads"].reject { |t| t["kind"] == "tiny" }.each do |thread|
        sheet = run[:row]["threads"].find { |t| t["tid"] == thread["tid"] }
        parts = %w[samples_cpu_ns gc_cpu_ns overhead_cpu_ns].sum { |name| figure(sheet, name, "thread #{thread["kind"]}") }
        assert_cpu thread["cpu_ns"], parts, "thread #{thread["kind"]} at #{hz} Hz"
        mine = run[:overhead].select { |s| s.tid == thread["tid"] }
        assert_equal sheet["overhead_cpu_ns"], mine.sum(&:cpu), "in the file and in --stats"
      end
    end
  end

  def test_the_doctor_says_how_the_kernel_counts
    doctor = Profiler.run("doctor", "--json")
    checks = JSON.parse(doctor.out)["checks"]
    assert checks.any? { |check| "#{check["name"]} #{check["found"]}".match?(/interrupt|irq/i) }, checks.map { |c| c["name"] }.inspect
  end
end
