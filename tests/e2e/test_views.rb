# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# Parts of profiles and differences, as report and diff show them and as go tool pprof does.
class TestViews < E2E
  PROGRAM = <<~RUBY
    require "set"
    class Load
      def heavy(n) = n.times { |i| i * 2 }
      def light = Array.new(30_000) { |i| i.to_s }
    end
    load = Load.new
    # Not at once: threads that take the GVL from each other would only wait here.
    %w[first second].each.with_index(1) do |name, share|
      Thread.new do
        Thread.current.name = name
        (share * SCALE).times { load.heavy(200_000); load.light }
      end.join
    end
  RUBY

  def self.recording(scale)
    program = PROGRAM.sub("SCALE", scale.to_s)
    profiler = Profiler.record("-F", "499", "--", RUBY, "-e", program, out: File::NULL)
    { profiler: profiler, profile: profiler.profile, file: profiler.file }
  end

  once(:base) { TestViews.recording(6) }
  once(:head) { TestViews.recording(12) }

  def run_json(*args)
    profiler = Profiler.run(*args, "-f", "json")
    assert_code 0, profiler
    JSON.parse(profiler.out)
  end

  # { label => cpu ns }
  def truth(key) = base[:profile].samples.group_by { |s| (s.labels[key] || "(none)").to_s }.transform_values { |all| all.sum { |s| s.values["cpu-time"] } }

  def pprof(*flags, files: [base[:file]])
    skip "go is not installed" unless command?("go")
    out = IO.popen({ "HOME" => SCRATCH, "PPROF_TMPDIR" => SCRATCH }, ["go", "tool", "pprof", "-sample_index=cpu-time",
                   "-unit=ns", "-nodecount=100000", "-nodefraction=0", *flags, *files], err: File::NULL, &:read)
    assert $?.success?, out
    out.force_encoding("UTF-8")
  end

  # { function => [flat, cum] } of -top
  def top(out)
    out.lines.filter_map do |line|
      flat, cum, name = line.match(/^ *(-?\d+)(?:ns)? +-?[\d.]+% +-?[\d.]+% +(-?\d+)(?:ns)? +-?[\d.]+% +(.*)$/)&.captures
      [name.strip, [flat.to_i, cum.to_i]] if name
    end.to_h
  end

  def test_by_any_label
    ["thread name", "thread", "process", "state", "pid", "gc cause"].each do |name|
      key = name == "thread" ? "thread name" : name
      json = run_json("report", base[:file], "--by", name)
      assert_equal key, json["by"]
      got = json["groups"].to_h { |g| [g["name"], g["total"]["cpu-time"]] }
      assert_equal truth(key).reject { |_, ns| ns.zero? }, got.reject { |_, ns| ns.zero? }, name
    end
  end

  def test_by_gem_adds_up
    json = run_json("report", base[:file], "--by", "gem")
    groups = json["groups"].to_h { |g| [g["name"], g] }
    assert_equal base[:profile].sum, json["groups"].sum { |g| g["self"]["cpu-time"] }
    # C functions are their caller's.
    own = base[:profile].sum { |s| s.stack.find { |f| f.file != "<cfunc>" }&.file == "-e" }
    assert_operator own, :>, 0
    assert_equal own, groups["(application)"]["self"]["cpu-time"]
  end

  def test_lines_add_up
    json = run_json("report", base[:file], "--lines")
    assert_equal base[:profile].sum, json["lines"].sum { |l| l["self"]["cpu-time"] }
    line = json["lines"].find { |l| l["name"] == "block in Load#heavy" }
    assert_equal 3, line["line"]
  end

  def test_unknown_labels_are_listed
    %w[--by --focus --ignore].each do |option|
      value = option == "--by" ? "colour" : "colour=x"
      profiler = Profiler.run("report", base[:file], option, value)
      assert_error profiler, 2, /colour/, /process/, /thread/
    end
  end

  def test_a_focused_conversion_has_that_part_only
    %w[first second].each do |name|
      file = Profiler.new_file(".pb.gz")
      assert_code 0, Profiler.run("report", base[:file], "--focus", "thread=#{name}", "-o", file)
      assert_equal [name], Pprof.read(file).samples.map { |s| s.labels["thread name"] }.uniq
      assert_equal truth("thread name")[name], Pprof.read(file).sum
      folded = Profiler.run("report", base[:file], "--focus", "thread=#{name}", "-f", "folded")
      assert_equal truth("thread name")[name], folded.out.lines.sum { |l| l[/\d+$/].to_i }
    end
    profiler = Profiler.run("report", base[:file], "--ignore", "thread=first", "--ignore", "event=gc", "-f", "folded")
    rest = base[:profile].samples.reject { |s| s.labels["thread name"] == "first" || s.gc? }
    assert_equal rest.sum { |s| s.values["cpu-time"] }, profiler.out.lines.sum { |l| l[/\d+$/].to_i }
  end

  def test_go_pprof_agrees_on_a_focus
    json = run_json("report", base[:file], "--focus", "thread=second")
    figures = top(pprof("-top", "-tagfocus=thread name=^second$"))
    refute_empty figures
    ours = Hash.new { |hash, name| hash[name] = [0, 0] }
    json["functions"].each { |f| ours[f["name"]][0] += f["self"]["cpu-time"] }
    figures.each { |name, (flat, _)| assert_equal flat, ours[name][0], name }
  end

  def test_go_pprof_agrees_on_a_label
    figures = top(pprof("-top", "-tagroot=thread name"))
    groups = run_json("report", base[:file], "--by", "thread")["groups"]
    groups.each do |group|
      next if group["name"].empty? || group["total"]["cpu-time"].zero?

      # A function of that name would be added to it.
      next if base[:profile].names.include?(group["name"])

      assert_equal group["total"]["cpu-time"], figures.fetch(group["name"]).last, group["name"]
    end
    tags = pprof("-tags")
    groups.each do |group|
      next unless %w[first second].include?(group["name"])

      share = tags[/^ *([\d.]+)ns .*: #{group["name"]}$/, 1]
      assert_equal group["total"]["cpu-time"], share.to_i, tags
    end
  end

  def test_by_is_a_root_in_pprof
    file = Profiler.new_file(".pb.gz")
    assert_code 0, Profiler.run("report", base[:file], "--by", "thread", "-o", file)
    Pprof.read(file).samples.each { |s| assert_equal s.labels["thread name"], s.names.last }
  end

  def compare(*options) = run_json("diff", base[:file], head[:file], *options)

  # { name => [self, total] }; a total is added up only where one name is one function.
  def changes(json)
    json["functions"].group_by { |f| f["name"] }.transform_values do |all|
      [all.sum { |f| f["self"]["delta"] }, all.size == 1 ? all[0]["total"]["delta"] : nil]
    end
  end

  def test_go_pprof_agrees_on_a_difference
    ours = changes(compare)
    figures = top(pprof("-top", "-diff_base=#{base[:file]}", files: [head[:file]]))
    assert_operator figures.size, :>, 5
    figures.each do |name, (flat, cum)|
      assert_equal flat, ours[name][0], name
      assert_equal cum, ours[name][1], name if ours[name][1]
    end
    heavy = ours["block in Load#heavy"] || ours["Integer#times"]
    assert_operator heavy[1], :>, 0
  end

  def test_go_pprof_agrees_on_a_normalized_difference
    json = compare("--normalize")
    ours = changes(json)
    # Each row is rounded: half a nanosecond here, up to one there.
    slack = head[:profile].samples.size * 2
    assert_in_delta 0, json["total"]["delta"], slack
    top(pprof("-top", "-normalize", "-diff_base=#{base[:file]}", files: [head[:file]])).each do |name, (flat, cum)|
      assert_in_delta flat, ours[name][0], slack, name
      assert_in_delta cum, ours[name][1], slack, name if ours[name][1]
    end
  end

  def test_a_difference_as_folded_and_text
    profiler = Profiler.run("diff", base[:file], head[:file], "-f", "folded")
    assert_code 0, profiler
    rows = profiler.out.lines.map { |l| l.match(/ (\d+) (\d+)$/).captures.map(&:to_i) }
    assert_equal [base[:profile].sum, head[:profile].sum], rows.transpose.map(&:sum)
    profiler = Profiler.run("diff", base[:file], head[:file], "--by", "thread")
    assert_code 0, profiler
    assert_match(/^change +\+/, profiler.out)
    assert_match(/ second$/, profiler.out)
  end

  def test_a_difference_of_nothing
    json = run_json("diff", base[:file], base[:file])
    assert json["functions"].all? { |f| f["self"]["delta"].zero? && f["total"]["delta"].zero? }
  end

  def test_what_cannot_be_compared
    none = Profiler.record("--no-cpu", "--no-gc", "--", RUBY, "-e", "sleep 0.1")
    assert_error Profiler.run("diff", base[:file], none.file, "--value", "cpu-time"), 4, /cpu-time/
    assert_error Profiler.run("diff", base[:file], none.file, "--value", "colour"), 2, /colour/
    assert_code 0, Profiler.run("diff", base[:file], none.file)
    assert_error Profiler.run("diff", base[:file]), 2, /BASE HEAD/
    assert_error Profiler.run("diff", base[:file], "/no/such"), 5, %r{/no/such}
    assert_error Profiler.run("diff", base[:file], base[:file], "-f", "speedscope"), 2, /no difference in format/
    bad = File.join(folder("bad"), "bad.pb.gz")
    File.binwrite(bad, File.binread(base[:file])[0..-30])
    assert_error Profiler.run("diff", bad, base[:file]), 5, /bad\.pb\.gz/
  end
end
