# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "set"
require_relative "helper"

# Labels of traces: what the real gem of dd-trace-rb says of itself, on each Ruby, against every
# sample that was taken of it.
class TestTrace < E2E
  HZ = 499
  SECONDS = 2
  # name => Ruby and version of the gem
  RUNS = { "3.1" => %w[3.1 2.47.0], "2.7" => %w[2.7 2.47.0], "3.3" => %w[3.3 2.47.0], "3.4" => %w[3.4 2.47.0],
           "old gem" => %w[3.1 2.10.0], "old on 3.4" => %w[3.4 2.10.0] }.freeze

  once(:seen) do |run|
    version, gem = RUNS.fetch(run)
    program = Program.new("trace_datadog.rb", SECONDS, ruby: ruby_with_gems(version), env: { "GEM_VERSION" => gem })
    dump = JSON.parse(Profiler.run("dump", "-p", program.pid, "--json").out)["processes"].first
    profiler = Profiler.start("-p", program.pid, "-F", HZ, "--stats=json")
    program.run
    profiler.stop
    program.finish
    assert_code 0, profiler
    { profiler: profiler, samples: profiler.profile.of(program.pid), truth: program.truth["methods"],
      dump: dump, errors: profiler.stats_of(program.pid)["errors"] }
  end

  # pprof has ids as signed numbers.
  def id(label) = label && (label & ((1 << 64) - 1)).to_s

  def of(run, method) = seen(run)[:samples].select { |s| s.frame?(method) && !s.overhead? }

  def labels_of(sample) = [id(sample.labels["local root span id"]), id(sample.labels["span id"])]

  # Those whose labels are missing, and those that have another's.
  def judge(run, method, truth)
    roots, spans = truth.values_at("roots", "spans").map(&:to_set)
    of(run, method).partition { |s| s.labels.key?("span id") }.then do |labelled, bare|
      [bare, labelled.reject { |s| (r, i = labels_of(s)) && roots.include?(r) && spans.include?(i) }]
    end
  end

  # A fork has what its parent had: its spans are known from its first instant on.
  def test_children_have_labels_and_each_root_span_its_endpoint
    version = Rubies.gems("3.3") ? "3.3" : "3.1"
    program = Program.new("trace_forks.rb", 6, 600, ruby: ruby_with_gems(version))
    profiler = Profiler.start("-p", program.pid, "-F", HZ, "--stats=json")
    program.run
    profiler.stop
    program.finish
    assert_code 0, profiler
    bare = all = 0
    program.truth["children"].each do |pid, root|
      samples = profiler.profile.of(pid.to_i).select { |s| s.frame?("Object#work_of_child") && !s.overhead? }
      labelled, missing = samples.partition { |s| s.labels.key?("span id") }
      assert_equal [[root, root, "ChildController#show"]],
                   labelled.map { |s| [id(s.labels["local root span id"]), id(s.labels["span id"]), s.labels["trace endpoint"]] }.uniq
      bare += ticks(missing)
      all += ticks(samples)
    end
    assert_operator bare, :<=, Chance.most(0.01 * all), "ticks of children without ids, of #{all}: #{profiler.stats["errors"]}"
    roots = profiler.profile.of(program.pid).select { |s| s.frame?("Object#work_of_roots") && s.labels.key?("span id") }
    assert_operator roots.size, :>, 100
    assert_empty roots.reject { |s| s.labels["trace endpoint"].to_s.match?(/\ARootController#\d+\z/) }
    roots.group_by { |s| s.labels["local root span id"] }.each_value do |same|
      assert_equal 1, same.map { |s| s.labels["trace endpoint"] }.uniq.size
    end
  end

  %w[2.7 3.1 3.3 3.4].each do |version|
    define_method("test_context_among_the_threads_variables_of_#{version.tr(".", "_")}") do
      program = Program.new("trace_variable.rb", ruby: ruby_with_gems(version))
      profiler = Profiler.start("-p", program.pid, "-F", HZ, "--stats=json")
      program.run
      profiler.stop
      program.finish
      assert_code 0, profiler
      samples = profiler.profile.samples.select { |s| s.frame?("Object#work_in_span") && !s.overhead? }
      labelled, bare = samples.partition { |s| s.labels.key?("span id") }
      assert_equal [[program.truth["id"]] * 2 + ["SomeController#show"]],
                   labelled.map { |s| [id(s.labels["local root span id"]), id(s.labels["span id"]), s.labels["trace endpoint"]] }.uniq,
                   profiler.stats["errors"].to_s
      assert_operator ticks(bare), :<=, Chance.most(0.02 * ticks(samples)), profiler.stats["errors"].to_s
    end
  end

  # What was asked not to be there is not.
  def test_switches_leave_labels_out
    { "--no-trace" => [], "--no-endpoint" => ["local root span id", "span id"] }.each do |switch, left|
      program = Program.new("trace_datadog.rb", 0.5, ruby: ruby_with_gems("3.1"), env: { "GEM_VERSION" => "2.47.0" })
      profiler = Profiler.start("-p", program.pid, "-F", HZ, switch)
      program.run
      profiler.stop
      program.finish
      assert_code 0, profiler
      assert_equal left, profiler.profile.label_keys.grep(/span|trace|endpoint/).sort, switch
    end
  end

  RUNS.each_key do |run|
    name = run.tr(" .", "_")

    define_method("test_#{name}_every_sample_has_the_ids_of_its_own_span") do
      bare = {}
      all = 0
      seen(run)[:truth].each do |method, truth|
        missing, wrong = judge(run, method, truth)
        assert_empty wrong.map { |s| labels_of(s) }.first(3), "#{method} has another's ids (#{wrong.size})"
        assert_operator of(run, method).size, :>, 0, "#{method} was not sampled"
        bare[method] = ticks(missing)
        all += ticks(of(run, method))
      end
      puts "#{run}: #{bare.values.sum} of #{all} #{seen(run)[:errors]}" if ENV["VERBOSE"]
      assert_operator bare.values.sum, :<=, [all * 0.001, 3].max, "ticks without ids, of #{all}: #{bare.reject { |_, n| n.zero? }}, #{seen(run)[:errors]}"
    end

    define_method("test_#{name}_without_a_trace_there_is_no_label") do
      outside = of(run, "Object#work_outside")
      assert_operator outside.size, :>, 0
      assert_empty outside.flat_map { |s| s.labels.keys }.grep(/span|endpoint/)
    end

    define_method("test_#{name}_requests_have_their_endpoint") do
      seen(run)[:truth].each do |method, truth|
        endpoints = of(run, method).select { |s| s.labels.key?("span id") }
                                   .map { |s| s.labels.values_at("trace endpoint", "endpoint source") }.uniq
        assert_equal [[truth["endpoint"], truth["endpoint"] && "trace"]], endpoints, method
      end
    end

    define_method("test_#{name}_dump_says_the_same") do
      thread = seen(run)[:dump]["threads"].find { |t| t["stack"].any? { |f| f["name"] == "Object#sleep_all_along" } }
      truth = seen(run)[:truth]["Object#sleep_all_along"]
      assert_equal [*truth["roots"], *truth["spans"]], thread["labels"].values_at("local root span id", "span id").map(&:to_s)
      assert_equal ["SleepController#long", "trace"], thread["labels"].values_at("trace endpoint", "endpoint source")
      others = seen(run)[:dump]["threads"] - [thread]
      assert_empty others.select { |t| t["labels"].key?("span id") }
    end

    define_method("test_#{name}_waits_and_collections_have_labels_too") do
      asleep = of(run, "Object#sleep_in_span").select(&:wait?)
      assert_operator asleep.sum(&:wall), :>, 250_000_000, "asleep in a span"
      assert_empty asleep.reject { |s| s.labels.key?("span id") }
      gc = of(run, "Object#collect").select(&:gc?)
      assert_operator gc.size, :>, 0
      assert_empty gc.reject { |s| s.labels.key?("span id") }
    end
  end
end
