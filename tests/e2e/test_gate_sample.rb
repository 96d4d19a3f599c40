# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "yaml"
require_relative "helper"

# The sample project of deploy/ci goes the whole way: its gate passes as it is, and goes red when
# it gets slower, with the slower method named.
class TestGateSample < E2E
  SAMPLE = File.join(ROOT, "deploy/ci/sample")
  PAIRS = 8

  def setup
    super
    skip "gate run is not in this version" if Profiler.run("gate", "run").err.include?("not in this version")
  end

  # Copies before and after a change, as CI checks them out.
  def checkouts
    place = folder("sample")
    %w[base head].each { |name| FileUtils.cp_r(SAMPLE, File.join(place, name)) }
    yield File.join(place, "head/lib/orders.rb") if block_given?
    place
  end

  # Runs its gate as CI does.
  def gate(place, env = {})
    bin = folder("bin")
    FileUtils.ln_s(BINARY, File.join(bin, "rbprof-bpf"))
    env = { "PATH" => "#{bin}:#{ENV["PATH"]}", "PAIRS" => PAIRS.to_s, "TURNS" => "12", "OUT" => "gate", "GITHUB_ACTIONS" => nil }.merge(env)
    log = File.join(place, "log")
    pid = Children.spawn(env, File.join(place, "head/gate.sh"), "base", "head", chdir: place, in: File::NULL, out: log, err: %i[child out])
    status = Children.wait(pid, PATIENCE * 3) or flunk("the gate does not end: #{File.read(log)}")
    [status.exitstatus, File.read(log)]
  end

  def test_it_passes_as_it_is
    place = checkouts
    # One in a hundred comparisons of equal code may be a false alarm: not with a limit like this.
    File.write(File.join(place, "head/.rbprof.yml"), "limit: 150%\n")
    code, log = gate(place)
    assert_equal 0, code, log
    verdict = JSON.parse(File.read(File.join(place, "gate/gate.json")))
    assert_equal ["pass", true, true], verdict.values_at("verdict", "paired", "per_work")
    assert_equal PAIRS, verdict["head"]["compared"]
    assert_equal "pass", verdict["metrics"].find { |m| m["name"] == "allocated" }["verdict"]
  end

  # Four times the work in a method, and some objects more for each line.
  def test_it_goes_red
    place = checkouts do |path|
      source = File.read(path)
      slower = source.sub("customer, amount, country = line.split(\";\")", <<~RUBY.chomp)
        customer, amount, country = 6.times.map { line.split(";") }.last
      RUBY
      refute_equal source, slower
      File.write(path, slower)
    end
    code, log = gate(place, "GITHUB_ACTIONS" => "true")
    assert_equal 1, code, log
    verdict = JSON.parse(File.read(File.join(place, "gate/gate.json")))
    assert_equal "regression", verdict["metrics"].find { |m| m["name"] == "allocated" }["verdict"]
    found = verdict["functions"].find { |f| f["name"] == "Orders#parse" && f["kind"] == "total" }
    assert_equal "regression", found["verdict"], log
    assert found["file"].end_with?("head/lib/orders.rb"), found["file"]
    assert_operator found["change"], :>, 1
    assert_match(%r{^::error title=Performance regression,file=head/lib/orders\.rb,line=\d+::}, log)
    %w[gate.sarif gate.md gate.xml gate.html].each { |name| refute_empty File.read(File.join(place, "gate", name)) }
  end

  # All in one step, as the configuration says: runs, then the verdict.
  def test_check_runs_a_command
    place = folder("check")
    File.write(File.join(place, ".rbprof.yml"), <<~YAML)
      command: [#{RUBY}, -e, "Array.new(50_000) { |i| i.to_s }"]
      runs: 3
      warmup: 0
      metrics: [allocated]
      interleave: '#{RUBY} -e "Array.new(40_000) { |i| i.to_s }"'
    YAML
    profiler = Profiler.run("gate", "check", "--config", ".rbprof.yml", chdir: place)
    assert_code 1, profiler
    assert_match(/^allocated .* regression$/, profiler.out)
    assert_equal %w[base head], Dir.children(File.join(place, ".rbprof-runs")).sort
    File.write(File.join(place, ".rbprof.yml"), "command: [ruby, -e, exit 3]\nruns: 1\nhead: other\n")
    assert_error Profiler.run("gate", "check", chdir: place), 3, /3/
  end

  # What CI runs is what is tested here.
  def test_the_workflows_run_it
    %w[github-actions.yml gitlab-ci.yml].each do |name|
      path = File.join(ROOT, "deploy/ci", name)
      YAML.safe_load(File.read(path))
      assert_includes File.read(path), "gate.sh"
    end
  end
end
