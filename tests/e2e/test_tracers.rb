# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# What `ps` and `state` say of a process's tracer: which, its version, where its context is.
class TestTracers < E2E
  # name => program and its arguments, Ruby, and what is said: name, version, context.
  RUNS = {
    "none" => [["idle.rb"], nil, []],
    "datadog" => [%w[tracers.rb datadog 2.47.0], "3.1", [%w[dd-trace-rb 2.47.0 fiber-local]]],
    "datadog 2.10" => [%w[tracers.rb datadog 2.10.0], "3.1", [%w[dd-trace-rb 2.10.0 fiber-local]]],
    "datadog on 2.7" => [%w[tracers.rb datadog 2.47.0], "2.7", [%w[dd-trace-rb 2.47.0 fiber-local]]],
    "datadog on 3.4" => [%w[tracers.rb datadog 2.47.0], "3.4", [%w[dd-trace-rb 2.47.0 fiber-local]]],
    "variable" => [["trace_variable.rb"], "3.1", [["dd-trace-rb", "2.47.0", "thread variable"]]],
    "otel local" => [%w[tracers.rb otel 1.4.0], "3.1", [["opentelemetry", "1.10.0", "fiber-local"]]],
    "otel" => [["tracers.rb", "otel", "> 1.4.0"], "3.3", [["opentelemetry", "1.10.0", "fiber variable"]]],
  }.freeze

  once(:seen) do |run|
    arguments, version, = RUNS.fetch(run)
    program = Program.new(*arguments, ruby: version ? ruby_with_gems(version) : [RUBY])
    profiler = Profiler.start("-p", program.pid)
    program.run unless arguments.first == "tracers.rb"
    told = Clock.wait_until(PATIENCE, "the tracer of #{run}") { state(profiler, program, run) }
    ps = Profiler.run("ps", "--json")
    line = Profiler.run("ps").out.lines.find { |l| l.include?(" #{program.pid} ") }
    text = Profiler.run("state", profiler.pid).out
    profiler.stop
    program.finish
    assert_code 0, ps
    { state: told, ps: of(ps, program), line: line, text: text }
  end

  def of(profiler, program) = JSON.parse(profiler.out)["processes"].find { |p| p["pid"] == program.pid }

  # Once it is known: it is looked for every now and then.
  def state(profiler, program, run)
    answer = JSON.parse(Profiler.run("state", profiler.pid, "--json").out)["recordings"][0]
    told = answer["processes"].find { |p| p["pid"] == program.pid }
    told if told["tracer"] != "not yet known: it was not looked for yet" && told["tracers"].size >= RUNS[run].last.size
  end

  RUNS.each do |run, (_, _, libraries)|
    define_method("test_#{run.tr(" .", "_")}") do
      expected = libraries.map { |name, version, context| { "name" => name, "version" => version, "context" => context, "reachable" => true } }
      line = libraries.empty? ? "none" : libraries.map { |name, version,| "#{name} #{version}" }.join(", ")
      { "ps" => seen(run)[:ps], "state" => seen(run)[:state] }.each do |where, told|
        assert_equal expected, told["tracers"], where
        assert_equal line, told["tracer"], where
      end
      assert_includes seen(run)[:line], " #{line} "
      assert_includes seen(run)[:text], "tracer: #{line}\n"
      assert_equal !libraries.empty?, seen(run)[:state]["tracer_keys"].values.any?(&:positive?)
    end
  end

  def test_state_says_that_nobody_looks
    program = Program.new("idle.rb")
    profiler = Profiler.start("-p", program.pid, "--no-trace")
    answer = JSON.parse(Profiler.run("state", profiler.pid, "--json").out)["recordings"][0]
    profiler.stop
    program.finish
    assert_equal ["not yet known: nobody looks for it (--no-trace)"], answer["processes"].map { |p| p["tracer"] }
  end
end
