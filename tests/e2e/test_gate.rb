# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "rexml/document"
require_relative "helper"
require_relative "gate_runs"

# What runs are judged to be: `gate compare`, `check` and `baseline`, on runs that are made up, whose
# truth is known. That real programs are judged so: test_gate_sample.rb.
class GateTest < E2E
  def setup
    raise "#{BINARY} is not built: make" unless File.executable?(BINARY)
  end

  SLOWER = { "Parser#parse": 1.2 }.freeze # it holds 40 %

  def self.runs(name, pairs, **options)
    once(name) { GateRuns.interleaved(File.join(folder(name.to_s), "runs"), pairs, **options) }
  end

  runs :same, 10
  runs :slower, 10, head: SLOWER
  runs :faster, 10, head: { "Parser#parse": 0.8 }
  runs :few, 3, head: SLOWER
  runs :allocating, 3, head_about: { "allocated" => 1_001_100 }

  def gate(*args, code: nil, env: {}, **options)
    # Neither a configuration nor a baseline of the folder that the tests run in.
    Profiler.run("gate", *args, env: { "NO_COLOR" => "1" }.merge(env), chdir: folder("gate"), **options).tap do |profiler|
      assert_code code, profiler if code
    end
  end

  def json(*args, code:, **options) = JSON.parse(gate("compare", *args, "-f", "json", code: code, **options).out)
  def metric(json, name) = json["metrics"].find { |m| m["name"] == name } || flunk("no #{name}: #{json["metrics"]}")
  def function(json, name, kind = "total") = json["functions"].find { |f| f["name"] == name && f["kind"] == kind } || flunk("no #{name}")

  def config(text)
    path = File.join(folder("config"), ".rbprof.yml")
    File.write(path, text)
    path
  end
end

class TestGateVerdict < GateTest
  def test_nothing_changed
    result = json(same, code: 0)
    assert_equal [1, "pass", 0, true, []], result.values_at("schema", "verdict", "status", "paired", "reasons")
    assert_equal %w[pass], result["metrics"].map { |m| m["verdict"] }.uniq
    assert_equal %w[pass], result["functions"].map { |f| f["verdict"] }.uniq
    assert_equal 1 / 1024.0, result["smallest_p"]
  end

  def test_a_slower_method
    result = json(slower, code: 1)
    found = function(result, "Parser#parse")
    assert_equal ["regression", "/app/parser.rb", 20], found.values_at("verdict", "file", "line")
    assert_in_delta 0.2, found["change"], 0.03
    assert_operator found["low"], :<, found["change"]
    assert_operator found["high"], :>, found["change"]
    assert_operator found["p"], :<=, 0.01
    assert_in_delta 0.4, found["share"]["before"], 0.02
    assert_in_delta 0.44, found["share"]["after"], 0.02
    assert_equal %w[App#serve App#report], found["callers"].map { |c| c["name"] }
    caller = found["callers"].first
    assert_in_delta 1.2, caller["after"] / caller["before"], 0.05
    # What calls it grew as well, but because of it.
    assert_nil found["part_of"]
    assert_equal "Parser#parse", function(result, "App#serve")["part_of"]["name"]
    assert_equal "pass", function(result, "Renderer#render")["verdict"]
  end

  def test_a_faster_method_is_told_and_passes
    result = json(faster, code: 0)
    assert_equal "improvement", function(result, "Parser#parse")["verdict"]
    assert_match(/^improvement: Parser#parse: .* -\d+\.\d%/, gate("compare", faster, code: 0).out)
  end

  def test_both_ways_to_name_interleaved_runs
    assert_equal json(slower, code: 1).except("base", "head"),
                 json("#{slower}/base", "#{slower}/head", code: 1).except("base", "head")
  end

  def test_runs_of_two_folders_are_no_pairs
    result = json("#{slower}/base", "#{same}/head", code: 0)
    refute result["paired"]
  end

  # The same runs without their pairs: the machine's 18 % hide what pairs show.
  def test_pairs_show_what_runs_alone_do_not
    place = folder("alone")
    FileUtils.cp_r("#{slower}/base", "#{place}/before")
    FileUtils.cp_r("#{slower}/head", "#{place}/after")
    alone = JSON.parse(gate("compare", "#{place}/before", "#{place}/after", "-f", "json").out)
    refute alone["paired"]
    widths = [json(slower, code: 1), alone].map { |r| metric(r, "cpu").then { |m| m["high"] - m["low"] } }
    assert_operator widths[1], :>, 3 * widths[0]
  end

  def test_too_few_runs_are_inconclusive
    result = json(few, code: 4)
    assert_equal ["inconclusive", 7], result.values_at("verdict", "runs_needed")
    assert_match(/3 pairs.*7 pairs are needed/, result["reasons"].join)
    assert_equal "inconclusive", metric(result, "cpu")["verdict"]
    assert_equal 5, json("#{few}/base", "#{allocating}/base", code: 4)["runs_needed"]
    # A larger alpha can be reached with them.
    assert_equal 1, json(few, "--alpha", "0.125", code: 1)["status"]
  end

  # Counters are exact: three runs will do.
  def test_counters
    result = json(allocating, code: 1)
    assert_equal "regression", metric(result, "allocated")["verdict"]
    assert_equal "pass", metric(result, "gc-count")["verdict"]
    assert_equal "regression", json(allocating, "--metrics", "allocated", code: 1)["verdict"]
    fewer = GateRuns.interleaved(folder("counters"), 3, head_about: { "allocated" => 1_000_900 })
    assert_equal "pass", json(fewer, "--metrics", "allocated", code: 0)["verdict"]
    two = GateRuns.interleaved(folder("two"), 2, head_about: { "allocated" => 2_000_000 })
    assert_match(/3 runs of each side are needed/, json(two, "--metrics", "allocated", code: 4)["reasons"].join)
  end

  # By more than twice the range of base.
  def test_counters_that_vary
    [[12_100, 1], [11_900, 0]].each do |more, code|
      place = folder("vary")
      # 1,000,000 to 1,004,000: what is over 1,012,000 is too much.
      GateRuns.write("#{place}/before", 3) { |n| [GateRuns::APP, { "allocated" => 998_000 + 2_000 * n }] }
      GateRuns.write("#{place}/after", 3) { |n| [GateRuns::APP, { "allocated" => 1_000_000 + more + n * 10 }] }
      assert_equal code, json("#{place}/before", "#{place}/after", "--metrics", "allocated", code: code)["status"]
    end
  end

  # Twice the work in twice the time is no regression; the same time for half of it is.
  def test_work
    double = GateRuns::APP.transform_values { |ns| ns * 2 }
    same_rate = GateRuns.interleaved(folder("rate"), 10, app: double, about: { "work" => 100 },
                                     head_about: { "work" => 200, "allocated" => 2_000_000, "gc_count" => 80 })
    result = json(same_rate, code: 0)
    assert_equal ["pass", true], result.values_at("verdict", "per_work")
    assert_in_delta 20_000_000, metric(result, "cpu")["before"], 6_000_000
    half = GateRuns.interleaved(folder("half"), 10, about: { "work" => 100 }, head_about: { "work" => 50 })
    assert_equal "regression", metric(json(half, code: 1), "cpu")["verdict"]
    mixed = GateRuns.interleaved(folder("mixed"), 10, head_about: { "work" => 50 })
    assert_match(/some runs state their work/, json(mixed, code: 4)["reasons"].join)
  end

  # A machine that is half as fast in the runs of head, and in its calibration.
  def test_calibration
    place = folder("calibration")
    random = Random.new(3)
    GateRuns.write("#{place}/a", 6) { [GateRuns.costs(random), { "calibration_ns" => 20_000_000 }] }
    GateRuns.write("#{place}/b", 6) { [GateRuns.costs(random, machine: 2.0), { "calibration_ns" => 40_000_000 }] }
    result = json("#{place}/a", "#{place}/b", code: 0)
    assert result["calibrated"]
    assert_in_delta 0, metric(result, "cpu")["change"], 0.05
    FileUtils.rm_rf("#{place}/b")
    GateRuns.write("#{place}/b", 6) { [GateRuns.costs(random, machine: 2.0), {}] }
    assert_in_delta 1, metric(json("#{place}/a", "#{place}/b", code: 1), "cpu")["change"], 0.1
  end

  # Nothing is slower where code was moved or renamed: what calls it costs the same.
  def test_code_that_moved
    renamed = GateRuns::APP.transform_keys { |stack| stack.gsub("Renderer#render", "Renderer#draw") }
    result = json(GateRuns.interleaved(folder("renamed"), 10, app: renamed), code: 0)
    assert_equal "new", function(result, "Renderer#draw")["verdict"]
    assert_equal "gone", function(result, "Renderer#render")["verdict"]
    inlined = GateRuns::APP.dup
    report = "<main>@/app/app.rb:1;App#report@/app/app.rb:30"
    inlined[report] += inlined.delete("#{report};Parser#parse@/app/parser.rb:20")
    result = json(GateRuns.interleaved(folder("inlined"), 10, app: inlined), code: 0)
    assert_equal "moved", function(result, "App#report", "self")["verdict"]
  end

  # A new method's cost shows in the method that calls it.
  def test_a_new_method_that_costs
    app = GateRuns::APP.merge("<main>@/app/app.rb:1;App#report@/app/app.rb:30;Audit#log@/app/audit.rb:3" => 200_000_000)
    result = json(GateRuns.interleaved(folder("new"), 10, app: app), code: 1)
    assert_equal "new", function(result, "Audit#log")["verdict"]
    found = function(result, "App#report")
    assert_equal "regression", found["verdict"]
    assert_equal "Audit#log", found["callees"].first["name"]
    assert_equal "new", function(result, "Audit#log")["verdict"]
  end

  def test_other_folders_are_the_same_code
    moved = GateRuns::APP.transform_keys { |stack| stack.gsub("@/app/", "@/build/head/") }
    assert_equal %w[pass], json(GateRuns.interleaved(folder("checkout"), 10, app: moved), code: 0)["functions"].map { |f| f["verdict"] }.uniq
  end
end

# What is compared must be alike.
class TestGateEnvironment < GateTest
  { "ruby" => "3.3.0", "kernel" => "6.2.0", "cpu" => "Other, 4 CPUs", "hz" => 199, "version" => "other" }.each do |key, value|
    define_method("test_another_#{key}_is_inconclusive") do
      runs = GateRuns.interleaved(folder("environment"), 10, head: SLOWER, head_about: { key => value })
      result = json(runs, code: 4)
      assert_equal "inconclusive", result["verdict"]
      assert_includes result["reasons"].join, value.to_s
      assert_equal key == "ruby" ? "inconclusive" : "pass", metric(result, "allocated")["verdict"]
    end
  end

  def test_counters_do_not_ask_for_the_kernel
    runs = GateRuns.interleaved(folder("environment"), 3, head_about: { "kernel" => "6.2.0", "allocated" => 2_000_000 })
    assert_equal 1, json(runs, code: 1)["status"]
    assert_equal 1, json(runs, "--metrics", "allocated", code: 1)["status"]
    assert_equal 0, json(GateRuns.interleaved(folder("environment"), 3, head_about: { "kernel" => "6.2.0" }),
                         "--metrics", "allocated", code: 0)["status"]
  end

  def test_a_run_that_failed
    runs = GateRuns.interleaved(folder("failed"), 10)
    path = File.join(runs, "head/004/run.json")
    File.write(path, JSON.generate(JSON.parse(File.read(path)).merge("status" => 1)))
    assert_match(/run 4 .*status 1/, json(runs, code: 4)["reasons"].join)
  end

  def test_what_is_not_known
    unknown = GateRuns.interleaved(folder("unknown"), 10, about: { "allocated" => nil })
    assert_equal "not measured", metric(json(unknown, code: 0), "allocated")["verdict"]
    assert_match(/allocated: no run has it/, json(unknown, "--metrics", "cpu,allocated", code: 4)["reasons"].join)
    half = GateRuns.interleaved(folder("half"), 10, head_about: { "allocated" => nil })
    assert_match(/allocated: some runs do not have it/, json(half, code: 4)["reasons"].join)
  end

  def test_profiles_without_samples
    runs = GateRuns.interleaved(folder("none"), 10, app: {})
    %w[base head].each { |side| GateRuns.write("#{runs}/#{side}", 10) { |n| [{}, { "pair" => n, "cpu_ns" => 10**9 }] } }
    assert_match(/too few samples/, json(runs, code: 4)["reasons"].join)
  end
end

# Missing, empty, corrupt.
class TestGateInput < GateTest
  def test_missing
    assert_error gate("compare", "/nowhere", same), 5, %r{/nowhere}
    assert_error gate("compare", "#{same}/base", "/nowhere"), 5, %r{/nowhere}
    assert_error gate("check", same + "/head"), 5, /\.rbprof-baseline\.json\.gz/
  end

  def test_empty
    assert_error gate("compare", folder("empty"), same), 5, /no runs in/
    file = File.join(folder("empty"), "baseline.json")
    File.write(file, "")
    assert_error gate("compare", file, "#{same}/head"), 5, /no JSON/
    File.write(file, "{}")
    assert_error gate("compare", file, "#{same}/head"), 5, /no baseline/
  end

  def test_runs_that_did_not_end_are_left_out
    runs = GateRuns.interleaved(folder("partial"), 10)
    FileUtils.rm(File.join(runs, "head/010/run.json"))
    profiler = gate("compare", runs, code: 0)
    assert_match(/010.*did not end/, profiler.err)
    assert_match(/1 runs of base and 0 of head are of no pair/, profiler.err)
    assert_match(/9 pairs/, profiler.out)
  end

  def test_corrupt_runs
    [["run.json", "{"], ["run.json", "[]"], ["run.json", '{"format":1}'], ["profile.pb.gz", "nonsense"], ["profile.pb.gz", ""]].each do |name, text|
      runs = GateRuns.interleaved(folder("corrupt"), 2)
      File.write(File.join(runs, "base/001", name), text)
      assert_error gate("compare", runs), 5, /#{name}/
    end
    runs = GateRuns.interleaved(folder("corrupt"), 2)
    FileUtils.rm(File.join(runs, "base/001/profile.pb.gz"))
    assert_error gate("compare", runs), 5, /profile\.pb\.gz/
  end

  def test_a_format_of_the_future
    runs = GateRuns.interleaved(folder("future"), 2, head_about: { "format" => 2 })
    assert_error gate("compare", runs), 4, /format/
  end

  def test_usage
    assert_error gate("compare", same + "/base"), 2, /usage/
    assert_error gate("compare", "a", "b", "c"), 2, /usage/
    assert_error gate("baseline"), 2, /usage/
    assert_error gate("baseline", "updte", same), 2, /usage/
    assert_error gate("judge"), 2, /judge/
    assert_error gate, 2, /compare/
    assert_error gate("compare", same, "-f", "pdf"), 2, /unknown format 'pdf'/
    assert_error gate("compare", same, "--alpha", "2"), 2, /alpha/
    assert_error gate("compare", same, "--limit", "-5%"), 2, /limit/
    assert_error gate("compare", same, "--metrics", "cpu,memory"), 2, /memory/
    assert_error gate("compare", same, "-o", "/nowhere/x"), 5, %r{/nowhere/x}
  end
end

class TestGateBaseline < GateTest
  once(:baseline) do
    path = File.join(folder("baseline"), "baseline.json.gz")
    profiler = gate("baseline", "update", "#{same}/base", "-o", path, code: 0)
    assert_match(/10 runs/, profiler.err)
    path
  end

  # Without pairs, in the machine's scatter: so the runs of one machine.
  def calm(factors, seed: 5)
    random = Random.new(seed)
    GateRuns.write(folder("calm"), 6) { [GateRuns.costs(random, **factors), {}] }
  end

  def test_it_is_as_good_as_its_runs
    assert_equal json("#{same}/base", "#{faster}/head", code: 0).except("base"), json(baseline, "#{faster}/head", code: 0).except("base")
    assert json(baseline, "#{faster}/head", code: 0)["base"]["is_baseline"]
    place = folder("calm-baseline")
    calm = calm({})
    gate("baseline", "update", calm, "--baseline", "#{place}/b.json", code: 0)
    JSON.parse(File.read("#{place}/b.json"))
    slow = calm({ "Parser#parse": 1.2 }, seed: 6)
    assert_equal json(calm, slow, code: 1).except("base"), json("#{place}/b.json", slow, code: 1).except("base")
    page = gate("compare", "#{place}/b.json", slow, "-f", "html", code: 1).out
    assert_includes page, "Parser#parse"
  end

  def test_check_takes_it_by_default
    place = folder("check")
    Profiler.run("gate", "baseline", "update", calm({}), chdir: place)
    assert_equal [".rbprof-baseline.json.gz"], Dir.children(place)
    profiler = Profiler.run("gate", "check", calm({ "Parser#parse": 1.3 }, seed: 6), chdir: place)
    assert_code 1, profiler
    assert_match(/^Parser#parse/, profiler.out)
    # Interleaved runs are compared with each other.
    assert_code 0, Profiler.run("gate", "check", same, chdir: place)
    File.write(File.join(place, ".rbprof.yml"), "head: #{slower}\nformat: github\n")
    profiler = Profiler.run("gate", "check", chdir: place)
    assert_code 1, profiler
    assert_match(/\A::error /, profiler.out)
  end

  def test_equal_runs_are_equal_files
    again = File.join(folder("baseline"), "again.json.gz")
    gate("baseline", "update", "#{same}/base", "-o", again, code: 0)
    assert_equal File.binread(baseline), File.binread(again)
  end

  def test_corrupt_ones
    bytes = File.binread(baseline)
    path = File.join(folder("corrupt"), "b.json.gz")
    [bytes[0...-20], bytes[0, 40], bytes.sub(bytes[100, 8], "\0" * 8)].each do |text|
      File.binwrite(path, text)
      assert_error gate("compare", path, "#{same}/head"), 5, /b\.json\.gz/
    end
    good = JSON.parse(Zlib.gunzip(bytes))
    broken = {
      "runs" => [[], nil, [{}]], "functions" => [nil, [{}], [{ "name" => "a", "file" => "b", "line" => 1, "self" => [], "total" => [] }]],
      "stacks" => [nil, [[[99_999], 1]], [[[0], -1]], [[0, 1]], [[[0], 2**62], [[1], 2**62]]], "kind" => [nil, "other"], "format" => ["1", nil]
    }
    broken.each do |key, values|
      values.each do |value|
        File.write(path, JSON.generate(good.merge(key => value)))
        assert_error gate("compare", path, "#{same}/head"), 5, /b\.json\.gz/
      end
    end
    File.write(path, JSON.generate(good.merge("format" => 2)))
    assert_error gate("compare", path, "#{same}/head"), 4, /format 2/
  end

  def test_mixed_runs_make_none
    runs = GateRuns.write(folder("mixed"), 3) { |n| [GateRuns::APP, { "ruby" => "3.#{n}.0" }] }
    path = File.join(folder("none"), "b.json")
    assert_error gate("baseline", "update", runs, "-o", path), 4, /Ruby/
    refute_path_exists path
    assert_error gate("baseline", "update", "#{same}/base", "-o", "/nowhere/b.json"), 5, %r{/nowhere}
  end
end

class TestGateConfig < GateTest
  def test_rules
    tomorrow = (Time.now + 2 * 86_400).strftime("%Y-%m-%d")
    ignoring = config("functions:\n  - match: ^Parser#\n    ignore: rewritten next week\n    until: #{tomorrow}\n" \
                      "  - match: ^(App|<main>)\n    limit: 15%\nmetrics: [functions]\n")
    result = json(slower, "--config", ignoring, code: 0)
    assert_equal({ "reason" => "rewritten next week", "until" => tomorrow }, function(result, "Parser#parse")["ignored"])
    assert_match(/^ignored: Parser#parse.*rewritten next week, until #{tomorrow}$/, gate("compare", slower, "--config", ignoring).out)
    assert_equal 0.15, function(result, "App#serve")["limit"]
  end

  def test_limits_and_precedence
    file = config("limit: 30%\nlimits:\n  allocated: 1%\n")
    assert_equal 0.3, function(json(slower, "--config", file, code: 0), "Parser#parse")["limit"]
    assert_equal 0.1, function(json(slower, "--config", file, code: 1, env: { "RBPROF_LIMIT" => "10%" }), "Parser#parse")["limit"]
    result = json(slower, "--config", file, "--limit", "40", code: 0, env: { "RBPROF_LIMIT" => "10%" })
    assert_equal 0.4, function(result, "Parser#parse")["limit"]
    assert_equal "pass", metric(json(allocating, "--config", file, "--metrics", "allocated", code: 0), "allocated")["verdict"]
    assert_error gate("compare", slower, env: { "RBPROF_LIMIT" => "much" }), 2, /RBPROF_LIMIT/
  end

  {
    "alpa: 1\n" => [1, "alpa", /unknown key/],
    "\nlimit: much\n" => [2, "limit", /percentage/],
    "metrics: [cpu, heap]\n" => [1, "metrics", /heap/],
    "limits:\n  heap: 5%\n" => [2, "heap", /unknown metric/],
    "limit: [1]\n" => [1, "limit", /must be text/],
    "limit: 5%\nlimit: 6%\n" => [2, "limit", /twice/],
    "functions:\n  - limit: 5%\n    match: 'a('\n" => [3, "match", /regular expression/],
    "functions:\n  - match: a\n    ignore: old\n    until: 2020-01-01\n" => [4, "until", /expired on 2020-01-01/],
    "functions:\n  - match: a\n    ignore: old\n    until: soon\n" => [4, "until", /no date/],
    "functions:\n  - match: a\n    ignore: old\n" => [2, "functions", /needs `until`/],
    "functions:\n  - match: a\n" => [2, "functions", /needs either/],
    "functions: 3\n" => [1, "functions", /list/],
    "- a\n" => [1, "", /keys with values/],
    "a: [\n" => [2, "", /no YAML/],
  }.each_with_index do |(text, (line, key, pattern)), i|
    define_method("test_error_#{i}_says_file_line_and_key") do
      file = config(text)
      assert_error gate("compare", same, "--config", file), 2, /#{Regexp.escape(file)}:#{line}: #{key}/, pattern
    end
  end

  def test_no_such_file
    assert_error gate("compare", same, "--config", "/nowhere.yml"), 5, /nowhere/
  end
end

# Each output says the same, and names do no harm in any.
class TestGateOutputs < GateTest
  EVIL = %w[<script>alert(1)</script>&"' a|b`c`*d*_e_[x](y) ::error::%0Ax,y:z].map { |n| "#{n}\u202e" } + ["line\nbreak\e[31m", "nul\u0001\ufffe"]

  once(:evil) do
    app = EVIL.to_h { |name| ["<main>@/app/a.rb:1;#{name.tr(";@", "..")}@/app/#{name.tr(";@", "..")}.rb:3", 300_000_000] }
    base = app.transform_values { |ns| ns / 2 }
    place = folder("evil")
    random = Random.new(1)
    { "base" => base, "head" => app }.each do |side, costs|
      GateRuns.write("#{place}/#{side}", 8) { |n| [GateRuns.costs(random, app: costs), { "pair" => n }] }
    end
    place
  end

  def written(runs, format, code: 1) = gate("compare", runs, "-f", format, code: code).out.force_encoding("UTF-8")

  def test_json_and_suffixes
    path = File.join(folder("out"), "verdict.json")
    gate("compare", slower, "-o", path, code: 1)
    assert_equal json(slower, code: 1), JSON.parse(File.read(path))
    assert_equal 5, JSON.parse(written(evil, "json"))["functions"].count { |f| f["verdict"] == "regression" && !f["part_of"] }
  end

  def test_text
    out = written(slower, "text")
    assert_match(/\Aregression: 10 pairs of runs; 1 function and 1 metric got worse$/, out)
    assert_match(%r{^Parser#parse  /app/parser\.rb:20$}, out)
    assert_match(/^    called by +App#serve  \d/, out)
    refute_match(/[\e\u202e\u0001]/, written(evil, "text"))
    assert_includes gate("compare", slower, "--color=always").out, "\e["
  end

  def test_junit
    root = REXML::Document.new(written(slower, "junit")).root
    cases = root.get_elements("//testcase")
    assert_equal cases.size.to_s, root.attributes["tests"]
    assert_equal root.get_elements("//failure").size.to_s, root.attributes["failures"]
    failed = cases.find { |c| c.attributes["name"].start_with?("Parser#parse") }
    assert_match(/\+2\d\.\d%/, failed.elements["failure"].attributes["message"])
    assert_equal "1", REXML::Document.new(written(few, "junit", code: 4)).root.attributes["errors"]
    names = REXML::Document.new(written(evil, "junit")).get_elements("//testcase").map { |c| c.attributes["name"] }.join
    assert_includes names, EVIL[0].delete("\u202e")
  end

  def test_github
    lines = written(slower, "github").lines
    assert_equal 2, lines.size
    assert_match(%r{\A::error title=Performance regression,file=/app/parser\.rb,line=20::Parser#parse: }, lines[0])
    written(evil, "github").each_line { |line| assert_match(/\A::(error|warning|notice) title=[^:]*(,file=[^:,]*,line=\d+)?::[^\n]*\n\z/, line) }
    assert_match(/\A::warning .*7 pairs are needed$/, written(few, "github", code: 4))
  end

  def test_paths_are_those_of_the_repository
    place = folder("repository")
    app = GateRuns::APP.transform_keys { |stack| stack.gsub("@/app/", "@#{File.realpath(place)}/lib/") }
    random = Random.new(1)
    [["base", {}], ["head", SLOWER]].each do |side, factors|
      GateRuns.write("#{place}/runs/#{side}", 8) { |n| [GateRuns.costs(random, app: app, **factors), { "pair" => n }] }
    end
    out = Profiler.run("gate", "compare", "runs", "-f", "github", chdir: place).out
    assert_includes out, ",file=lib/parser.rb,line=20::"
    sarif = JSON.parse(Profiler.run("gate", "compare", "runs", "-f", "sarif", chdir: place).out)
    assert_equal({ "uri" => "lib/parser.rb", "uriBaseId" => "%SRCROOT%" },
                 sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"])
  end

  def test_markdown
    out = written(slower, "markdown")
    assert_match(/^### Performance gate: regression/, out)
    assert_match(/^\| cpu \|/, out)
    evil_out = written(evil, "markdown")
    refute_includes evil_out, "<script>"
    # Each row of a table has as many cells as its heading.
    evil_out.lines.select { |l| l.start_with?("|") }.each { |l| assert_includes [6, 8], l.count("|") - 1, l }
  end

  def test_html
    page = written(evil, "html")
    refute_includes page, "<script>alert"
    assert_includes page, "&#60;script&#62;alert(1)"
    assert_includes written(slower, "html"), "<summary>regression: 10 pairs of runs"
    assert_includes written(few, "html", code: 4), "7 pairs are needed"
  end

  SARIF_ERROR = /^\S+\(\d+,\d+\): error /

  # By the tool of those who made the format. It ends with 0 whatever it finds.
  def test_sarif
    folder, reason = sarif_tool
    skip reason unless folder
    place = folder("sarif")
    { "slower" => slower, "evil" => evil, "few" => few, "same" => same }.each do |name, runs|
      gate("compare", runs, "-o", "#{place}/#{name}.sarif")
    end
    said = validate(folder, *Dir.glob("#{place}/*.sarif"))
    assert_includes said, "4 files scanned"
    refute_match(SARIF_ERROR, said)
    File.write("#{place}/broken.sarif", File.read("#{place}/slower.sarif").sub('"startLine": 20', '"startLine": -1'))
    assert_match SARIF_ERROR, validate(folder, "#{place}/broken.sarif")
    result = JSON.parse(File.read("#{place}/slower.sarif"))["runs"][0]["results"][0]
    assert_match(/\AParser#parse: .*called by App#serve/, result["message"]["text"])
    assert_equal 20, result["locations"][0]["physicalLocation"]["region"]["startLine"]
  end

  def validate(folder, *files)
    env = { "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT" => "1", "DOTNET_BUNDLE_EXTRACT_BASE_DIR" => File.join(SCRATCH, "net") }
    said = IO.popen(env, [File.join(folder, "node_modules/.bin/sarif-multitool"), "validate", *files], err: %i[child out], &:read)
    assert $?.success?, said
    said
  end

  def sarif_tool
    said = IO.popen([File.join(ROOT, "tests/npm/install"), "viewers"], err: %i[child out], &:read)
    $?.success? ? [said.lines.last.chomp, nil] : [nil, said.lines.last.to_s.chomp]
  end
end
