# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"
require_relative "readers"
require_relative "viewers"

# One recording with times and one without, in each format: all say the same.
class TestViewers < E2E
  VALUES = %w[cpu-samples cpu-time wall-time timeline].freeze

  def record(*options, frames: 4000)
    # Deep enough for 4,000 frames: the VM's own default of 1 MB is not on all versions.
    profiler = Profiler.record("-F", "997", "--max-frames", frames, *options, "--", RUBY,
                               File.join(PROGRAMS, "formats.rb"), env: { "RUBY_THREAD_VM_STACK_SIZE" => "8388608" })
    assert_code 0, profiler
    { file: profiler.file, profile: profiler.profile, sums: Readers.pprof(profiler.profile) }
  end

  once(:timed) { record("--timeline") }
  once(:plain) { record }
  # speedscope 1.25.0 cannot open stacks of 4,000: it fails in a recursion of its own.
  once(:default_depth) { record(frames: 1000) }
  once(:empty) do
    profiler = Profiler.run("record", "-p", Process.pid, "--timeline", "-d", "20ms", "-o", Profiler.new_file(".pb.gz"))
    bytes = profiler.code.zero? ? Zlib.gunzip(File.binread(profiler.file)) : flunk(profiler.err)
    file = Profiler.new_file(".pb")
    File.binwrite(file, without_samples(bytes))
    assert_empty Pprof.read(file).samples
    { file: file }
  end

  # The file's fields but those of number 2; all that is left over resolves still.
  def without_samples(bytes)
    out = +"".b
    at = 0
    number = lambda do
      value = shift = 0
      loop do
        byte = bytes.getbyte(at)
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        return value if byte < 0x80
      end
    end
    while at < bytes.bytesize
      from = at
      key = number.call
      length = number.call
      at += length if key & 7 == 2
      out << bytes.byteslice(from, at - from) unless key >> 3 == 2
    end
    out
  end

  def convert(run, format, *options)
    profiler = Profiler.run("report", "-f", format, *options, run[:file])
    assert_code 0, profiler
    profiler.out
  end

  def as_file(run, suffix, *options)
    file = Profiler.new_file(suffix)
    assert_code 0, Profiler.run("report", "-o", file, *options, run[:file])
    file
  end

  def assert_sums(expected, actual, what)
    differences = (expected.keys | actual.keys).reject { |key| (expected[key] || 0) == (actual[key] || 0) }
    assert_empty differences.first(5).map { |key| [key, expected[key], actual[key]] }, what
    assert_operator actual.size, :>, 20, what
  end

  # The file names threads, not their ids.
  def by_thread_name(run)
    names = run[:profile].samples.to_h { |s| [[s.pid, s.labels["thread id"]], [s.pid, s.thread]] }
    run[:sums].each_with_object(Hash.new(0)) do |(key, sum), sums|
      sums[key.size == 2 ? [key[0], names.fetch(key[1])] : key] += sum
    end
  end

  %i[timed plain].each do |kind|
    define_method("test_#{kind}_sums_are_the_same_in_every_format") do
      run = send(kind)
      assert_sums run[:sums], Readers.pprof(Pprof.read(as_file(run, ".pb"))), "pprof"
      assert_sums run[:sums].without_threads, Readers.json(convert(run, "json")), "json"
      assert_sums run[:sums].without_threads, Readers.speedscope(convert(run, "speedscope")), "speedscope"
      VALUES.each do |value|
        assert_sums Readers.pprof(run[:profile]) { |f| [f.name] }.of(value).without_threads,
                    Readers.folded(convert(run, "folded", "--value", value), value), "folded #{value}"
        assert_sums by_thread_name(run).select { |key, _| key[0] == value },
                    Readers.firefox(convert(run, "firefox", "--value", value), value), "firefox #{value}"
      end
    end
  end

  def test_chrome_has_the_same_sums
    assert_sums timed[:sums], Readers.chrome(convert(timed, "chrome")), "chrome"
  end

  def test_names_and_depth_are_there
    names = timed[:profile].names
    ["Object#semi;colon", "Object#rocket \u{1F680}"].each { |name| assert_includes names, name }
    assert(names.any? { |name| name.include?("bad \u{fffd}") }, "an invalid name")
    assert_operator timed[:profile].samples.map { |s| s.stack.size }.max, :>, 3_900
  end

  def test_chrome_needs_times
    assert_error Profiler.run("report", "-f", "chrome", plain[:file]), 2, /--timeline/
    assert_error Profiler.run("record", "-f", "chrome", "-d", "1"), 2, /--timeline/
    assert_error Profiler.run("record", "-o", Profiler.new_file(".trace.json"), "-d", "1"), 2, /--timeline/
  end

  def test_an_empty_profile_is_one_in_every_format
    assert_equal [[], [], [], []], JSON.parse(convert(empty, "speedscope"))["profiles"].map { |p| p["samples"] }
    assert_empty JSON.parse(convert(empty, "firefox"))["threads"]
    assert_empty JSON.parse(convert(empty, "chrome"))["traceEvents"]
    assert_empty convert(empty, "folded")
  end

  def test_record_writes_them_by_suffix
    { ".speedscope.json" => "profiles", ".firefox.json" => "threads", ".trace.json" => "traceEvents" }.each do |suffix, key|
      profiler = Profiler.record("--timeline", "--", RUBY, "-e", "3_000_000.times {}", suffix: suffix)
      assert_code 0, profiler
      refute_empty JSON.parse(File.read(profiler.file))[key], suffix
    end
  end

  # Waits for the GVL and collections, where the file's samples have them.
  def test_firefox_markers
    json = JSON.parse(convert(timed, "firefox"))
    markers = json["threads"].flat_map { |thread| Readers.firefox_markers(json, thread) }
    samples = timed[:profile].samples
    { "GVL wait" => samples.select { |s| s.state == "waiting for gvl" }, "GC" => samples.select(&:gc?) }.each do |name, real|
      refute_empty real, name
      mine = markers.select { |m| m[:name] == name }
      assert_equal real.size, mine.size, name
      assert_in_delta real.sum(&:wall) / 1e6, mine.sum { |m| m[:end] - m[:start] }, 0.001 * real.size, name
    end
    assert(markers.any? { |m| m[:data]["holder"] }, "a holder of the GVL")
    assert_includes markers.filter_map { |m| m[:data]["gcType"] }, "major"
  end

  def viewers
    skip "no viewers: #{Viewers.reason}" unless Viewers.folder
  end

  %i[timed plain].each do |kind|
    define_method("test_#{kind}_in_the_firefox_profiler") do
      viewers
      run = send(kind)
      Viewers::Firefox.open(as_file(run, ".firefox.json")) do |firefox|
        threads = firefox.threads
        expected = run[:sums].select { |key, _| key[0] == "cpu-time" && key.size == 2 }.transform_keys(&:last)
        named = run[:profile].samples.to_h { |s| [[s.pid, s.labels["thread id"]], s.thread] }
        assert_equal named.values.sort, threads.map { |t| t["name"] }.sort
        sums = threads.to_h { |t| [t["name"], firefox.functions(t["threadHandle"])] }
        assert_in_delta expected.values.sum / 1e6, sums.values.flatten.sum { |f| f["selfSamples"] }, 0.01
        main = sums.fetch("main").to_h { |f| [f["functionIndex"], f] }
        real = run[:profile].samples.select { |s| s.thread == "main" }
        assert_in_delta real.sum { |s| s.frame?("<main>") ? s.cpu : 0 } / 1e6,
                        main.values.find { |f| f["name"] == "<main>" }&.fetch("totalSamples").to_f, 0.01
        assert_operator threads.sum { |t| t["markerCount"] }, kind == :timed ? :> : :==, 0
      end
    end
  end

  def test_in_speedscope
    viewers
    skip "chromium is not installed" unless command?("chromium")
    text = Viewers::Speedscope.shown(as_file(default_depth, ".speedscope.json"))
    assert_includes text, "Object#semi;colon"
    assert_includes text, "\u{1F680}"
    assert_includes text, "cpu-time (2/4)"
    cpu = default_depth[:sums][["cpu-time"]]
    assert_includes text, "cpu-time #{cpu < 1_000_000_000 ? format("%.2fms", cpu / 1e6) : format("%.2fs", cpu / 1e9)}"
  end

  def test_in_go_pprof
    skip "go is not installed" unless command?("go")
    out = IO.popen({ "HOME" => SCRATCH }, ["go", "tool", "pprof", "-raw", as_file(plain, ".pb.gz"), err: File::NULL], &:read)
    rows = out.force_encoding("UTF-8")[/^Samples:\n.*?\n(.*?)^Locations/m, 1].lines.filter_map { |l| l[/\A((?:\s+\d+)+):/, 1]&.split&.map(&:to_i) }
    assert_equal VALUES.map { |v| plain[:sums][[v]] }, rows.transpose.map(&:sum)
  end
end
