# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# `ps`: every Ruby process and how it is read.
class TestPs < E2E
  def test_json_names_each_ruby
    program = Program.new("idle.rb")
    profiler = Profiler.run("ps", "--json")
    assert_code 0, profiler
    json = JSON.parse(profiler.out)
    assert_equal 1, json["schema"]
    row = json["processes"].find { |p| p["pid"] == program.pid }
    assert row, profiler.out
    assert_equal [true, RUBY_VERSION, COMM], row.values_at("ok", "ruby", "comm")
    assert_kind_of Hash, row["tier"]
    assert_kind_of Array, row["build"]
    assert_in_delta File.read("/proc/#{program.pid}/stat").split[21].to_i * 10_000_000, row["start_ns"], 1e9
    refute json["processes"].any? { |p| p["pid"] == 1 } unless File.read("/proc/1/comm") =~ /ruby/
    program.finish
  end

  def test_text
    program = Program.new("idle.rb")
    profiler = Profiler.run("ps")
    assert_code 0, profiler
    line = profiler.out.lines.find { |l| l =~ /\b#{program.pid}\b/ }
    assert line, profiler.out
    assert_includes line, RUBY_VERSION
    program.finish
  end
end

# `dump`: what every thread does right now (what it waits for: test_dump.rb).
class TestDump < E2E
  once(:seen) do
    program = Program.new("waiting.rb")
    before = proc_status(program.pid)
    json = Profiler.run("dump", "-p", program.pid, "--json")
    text = Profiler.run("dump", "-p", program.pid)
    after = proc_status(program.pid)
    program.run
    truth = program.truth
    program.finish
    { json: json, text: text, truth: truth, pid: program.pid, path: program.path, before: before, after: after }
  end

  def process
    assert_code 0, seen[:json]
    json = JSON.parse(seen[:json].out)
    assert_equal 1, json["schema"]
    assert_equal [seen[:pid]], json["processes"].map { |p| p["pid"] }
    json["processes"][0]
  end

  def thread(name) = process["threads"].find { |t| t["name"] == name } || flunk("no thread #{name}: #{seen[:json].out}")

  { "sleeper" => "Object#sleeps_here", "popper" => "Object#pops_here", "holder" => "Object#holds_here",
    "waiter" => "Object#waits_here", "joiner" => "Object#joins_here", "left" => "Object#first_here",
    "right" => "Object#first_here", "main" => "Object#ready" }.each do |name, method|
    define_method("test_the_stack_of_thread_#{name}") do
      frames = thread(name)["stack"]
      frame = frames.find { |f| f["name"] == method }
      assert frame, frames.inspect
      assert_operator frame["line"], :>=, frame["start_line"]
      assert frame["file"].start_with?(PROGRAMS)
      assert_equal name == "main" ? "<main>" : "block in Object#named", frames.last["name"]
    end
  end

  def test_thread_ids
    seen[:truth].each { |name, tid| assert_equal tid, thread(name)["tid"], name }
    assert_equal seen[:pid], thread("main")["tid"]
  end

  def test_the_spinner_waits_for_nothing
    assert_nil thread("spinner")["waits_for"]
  end

  def test_text_shows_threads_and_stacks
    assert_code 0, seen[:text]
    out = seen[:text].out.force_encoding("UTF-8")
    ["sleeper", "Object#sleeps_here", "Kernel#sleep", "holder", "Object#waits_here", File.basename(seen[:path])].each do |word|
      assert_includes out, word
    end
  end

  def test_it_touched_nothing
    keys = %w[TracerPid SigPnd ShdPnd SigBlk SigIgn SigCgt Threads]
    assert_equal seen[:before].values_at(*keys), seen[:after].values_at(*keys)
  end
end

# `state`: the inner state of a running profiler.
class TestState < E2E
  def test_json_and_text
    program = Program.new("busy.rb", 20)
    profiler = Profiler.start("-p", program.pid, "-F", "123")
    json = Profiler.run("state", profiler.pid, "--json")
    text = Profiler.run("state", profiler.pid)
    any = Profiler.run("state")
    profiler.stop
    program.finish
    assert_code 0, json
    state = JSON.parse(json.out)
    assert_equal 1, state["schema"]
    [json.out, text.out].each do |out|
      assert_match(/\b#{program.pid}\b/, out)
      assert_match(/\b123\b/, out)
      assert_includes out, RUBY_VERSION
      assert_match(/main/, out)
    end
    assert_code 0, text
    assert_code 0, any
    assert_code 0, profiler
  end

  def test_nothing_runs
    assert_error Profiler.run("state", Process.pid), 3, /#{Process.pid}/
    profiler = Profiler.run("state")
    skip "somebody else's profiler is running" if profiler.code.zero?
    assert_error profiler, 3, /no recording/
  end
end

# `doctor`: can this host be profiled.
class TestDoctor < E2E
  def test_json
    profiler = Profiler.run("doctor", "--json")
    json = JSON.parse(profiler.out)
    assert_equal 1, json["schema"]
    assert_equal json["ok"] ? 0 : 3, profiler.code
    assert_equal true, json["ok"], "this host runs the tests, so it can be profiled: #{profiler.out}"
    json["checks"].each do |check|
      assert_includes [true, false], check["ok"], check.inspect
      refute_empty check["name"]
      refute_nil check["found"]
      refute_empty check["remedy"].to_s, check.inspect unless check["ok"]
    end
    names = json["checks"].map { |c| c["name"] }.join("\n")
    [/kernel/i, /btf/i, /CAP_BPF/, /CAP_PERFMON/, /CAP_SYS_PTRACE/, /clock/i, /memlock|locked memory/i, /lockdown/i,
     /ptrace.?scope/i].each { |pattern| assert_match(pattern, names) }
  end

  def test_text
    profiler = Profiler.run("doctor")
    assert_code 0, profiler
    assert_includes profiler.out, File.read("/proc/sys/kernel/osrelease").chomp
    assert_match(/BTF/i, profiler.out)
    assert_match(/cpu-clock/, profiler.out)
  end

  def test_what_is_missing_is_said_with_its_remedy
    profiler = Profiler.run("doctor", "--json", prefix: without_capabilities("bpf", "sys_admin"))
    json = JSON.parse(profiler.out)
    assert_equal false, json["ok"]
    check = json["checks"].find { |c| c["name"].include?("CAP_BPF") }
    assert_equal false, check["ok"]
    refute_empty check["remedy"]
    assert_code 3, profiler
  end
end
