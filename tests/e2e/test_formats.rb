# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "zlib"
require_relative "helper"

# One recording of names of all kinds, in every format and through other people's readers.
class TestFormats < E2E
  once(:seen) do
    truth = Program.truth_path
    profiler = Profiler.record("-F", "997", "--", RUBY, File.join(PROGRAMS, "names.rb"),
                               env: { "TRUTH" => truth }, out: File::NULL)
    assert_code 0, profiler
    { profiler: profiler, profile: profiler.profile, file: profiler.file }
  end

  def report(*args, **options) = Profiler.run("report", seen[:file], *args, **options)

  def test_report_is_a_table_of_self_and_total
    profiler = report
    assert_code 0, profiler
    assert_match(/self/i, profiler.out)
    assert_match(/total/i, profiler.out)
    ["Foo::Bar.baz", "Shape#plain", "<main>"].each { |name| assert_includes profiler.out.force_encoding("UTF-8"), name }
  end

  def test_report_as_json
    profiler = report("-f", "json")
    assert_code 0, profiler
    json = JSON.parse(profiler.out)
    assert_equal 1, json["schema"]
    assert_equal seen[:profile].duration_nanos, json["duration_ns"]
    main = json["functions"].find { |f| f["name"] == "<main>" }
    assert_equal seen[:profile].sum { |s| s.frame?("<main>") }, main["total"]["cpu-time"]
    assert_equal seen[:profile].sum, json["functions"].sum { |f| f["self"]["cpu-time"] || 0 }
    assert_kind_of Hash, json["labels"]
  end

  def test_folded_has_one_line_a_stack
    profiler = report("-f", "folded")
    assert_code 0, profiler
    lines = profiler.out.force_encoding("UTF-8").lines(chomp: true)
    assert lines.all?(&:valid_encoding?)
    lines.each { |line| assert_match(/\A\S.* \d+\z/, line) }
    assert_equal seen[:profile].sum, lines.sum { |line| line[/\d+\z/].to_i }
    assert_equal lines.size, lines.map { |l| l[/\A.*(?= \d+\z)/] }.uniq.size, "equal stacks are one line"
    odd = lines.find { |line| line.include?("c \u00e9") }
    assert odd
    stack = odd[/\A.*(?= \d+\z)/].split(";")
    assert_operator stack.size, :<=, 12, "no separator of a name is one of stacks: #{odd}"
  end

  def test_folded_by_another_value
    profiler = report("-f", "folded", "--value", "cpu-samples")
    assert_equal seen[:profile].sum("cpu-samples"), profiler.out.lines.sum { |line| line[/\d+$/].to_i }
  end

  def test_pprof_survives_a_round_trip
    %w[.pb.gz .pb].each do |suffix|
      file = Profiler.new_file(suffix)
      assert_code 0, report("-o", file)
      assert_equal suffix == ".pb.gz", File.binread(file, 2) == "\x1f\x8b".b
      again = Pprof.read(file)
      key = ->(s) { [s.names, s.stack.map(&:line), s.labels.to_a.sort_by(&:first), s.values] }
      assert_equal seen[:profile].samples.map(&key).sort_by(&:inspect), again.samples.map(&key).sort_by(&:inspect)
      assert_equal seen[:profile].comments, again.comments
      assert_equal seen[:profile].types, again.types
    end
  end

  def test_record_writes_each_format_by_its_suffix
    { ".pb" => ->(b) { Pprof.new(b).sum }, ".folded" => ->(b) { b.lines.sum { |l| l[/\d+$/].to_i } },
      ".json" => ->(b) { JSON.parse(b)["functions"].sum { |f| f["self"]["cpu-time"] || 0 } },
      ".txt" => ->(b) { b[/Object#its_work/] ? 1 : 0 } }.each do |suffix, read|
      profiler = Profiler.record("--", RUBY, "-e", "def its_work = 3_000_000.times {}; its_work", suffix: suffix)
      assert_code 0, profiler
      assert_operator read.call(File.binread(profiler.file)), :>, 0, suffix
    end
  end

  def test_a_format_beats_the_suffix
    file = Profiler.new_file(".txt")
    assert_code 0, report("-f", "folded", "-o", file)
    File.readlines(file).each { |line| assert_match(/ \d+$/, line) }
  end

  def pprof(*flags)
    skip "go is not installed" unless command?("go")
    out = IO.popen({ "HOME" => SCRATCH, "PPROF_TMPDIR" => SCRATCH, "GOFLAGS" => "-mod=mod" },
                   ["go", "tool", "pprof", *flags, seen[:file]], err: %i[child out], &:read)
    assert $?.success?, out
    out.force_encoding("UTF-8")
  end

  %w[-top -lines].each do |flag|
    define_method("test_go_pprof#{flag.tr("-", "_")}") do
      out = pprof("-top", *[flag].reject { |f| f == "-top" }, "-nodecount=1000", "-sample_index=cpu-time", "-cum")
      ["<main>", "Foo::Bar.baz", "Shape#<=>", "(anonymous Class)#of_nameless"].each do |name|
        assert_match(/ #{Regexp.escape(name)}( |$)/, out)
      end
      assert_match(/\AFile: ruby/, out)
      assert_match(/^Type: cpu-time/, out)
      assert_match(%r{Foo::Bar\.baz \S*/names\.rb:\d+}, out) if flag == "-lines"
    end
  end

  def test_go_pprof_traces
    out = pprof("-traces", "-sample_index=cpu-time")
    assert_match(/^\s+<main>$/, out)
    assert_match(/^\s+Foo::Bar\.baz$/, out)
    assert_match(/thread name:\s*main/, out)
  end

  def test_go_pprof_tags
    out = pprof("-tags", "-sample_index=cpu-time")
    ["thread id", "thread name", "process", "pid", "ruby"].each { |key| assert_match(/^ *#{key}: Total/, out) }
    assert_includes out, RUBY_VERSION
  end

  def test_go_pprof_svg
    skip "graphviz is not installed" unless command?("dot")
    out = pprof("-svg", "-nodecount=1000", "-nodefraction=0", "-sample_index=cpu-time")
    assert_includes out, "<svg"
    assert_match(/&lt;main&gt;/, out)
  end

  def test_go_pprof_integer_comparison
    profiler = Profiler.record("-F", "997", "--", RUBY, "-e",
                               "a = 1 << 4_000_000; b = a + 1; 4_000.times { a.public_send(:<=>, b) }")
    skip "go is not installed" unless command?("go")
    out = IO.popen({ "HOME" => SCRATCH }, ["go", "tool", "pprof", "-top", profiler.file], err: File::NULL, &:read)
    assert_match(/ Integer#<=>$/, out)
  end

  # C10: deep stacks keep order and depth.
  def test_go_pprof_traces_of_a_deep_stack
    skip "go is not installed" unless command?("go")
    profiler = Profiler.record("--", RUBY, "-e", <<~RUBY)
      def leaf = 4_000_000.times {}
      def down(n) = n > 1 ? down(n - 1) : leaf
      down(900)
    RUBY
    out = IO.popen({ "HOME" => SCRATCH }, ["go", "tool", "pprof", "-traces", profiler.file], err: File::NULL, &:read)
    deep = out.split(/^-+\+-+$/).select { |block| block.include?("Object#leaf") }
    refute_empty deep
    deep.each do |block|
      names = block.lines.map { |l| l.sub(/\A\s*[\d.]+(ns|us|ms|s)\s+/, "").strip }.drop_while { |l| l != "Object#leaf" }
      assert_equal ["Object#leaf", *["Object#down"] * 900, "<main>"], names.reject(&:empty?)
    end
  end
end

# Profiles that are none.
class TestBadProfiles < E2E
  once(:good) do
    profiler = Profiler.record("--", RUBY, "-e", "3_000_000.times {}")
    Zlib.gunzip(File.binread(profiler.file))
  end

  def refuse(name, bytes)
    file = File.join(folder("bad"), name)
    File.binwrite(file, bytes)
    profiler = Profiler.run("report", file, prefix: %w[prlimit --as=2000000000])
    assert_error profiler, 5, /#{Regexp.escape(name)}/
    assert_empty profiler.out
  end

  def test_empty = refuse("empty.pb.gz", "")
  def test_text = refuse("text.pb.gz", "this is no profile\n" * 100)
  def test_random = refuse("random.pb.gz", Random.new(1).bytes(100_000))
  def test_random_in_gzip = refuse("random.pb.gz", Zlib.gzip(Random.new(1).bytes(100_000)))
  def test_truncated_gzip = refuse("short.pb.gz", Zlib.gzip(good)[0..-40])
  def test_flipped_gzip = refuse("flipped.pb.gz", Zlib.gzip(good).tap { |b| b.setbyte(b.bytesize / 2, b.getbyte(b.bytesize / 2) ^ 0xff) })
  def test_truncated_message = refuse("short.pb", good[0..-7])

  def test_missing
    assert_error Profiler.run("report", "/no/such/profile.pb.gz"), 5, %r{/no/such/profile}, /no such file/i
  end

  def test_a_folder
    assert_error Profiler.run("report", SCRATCH), 5, /directory/i
  end

  # 6 GB of nothing in 6 MB, as one member and as many.
  def test_a_gzip_bomb_of_empty_strings
    member = Zlib.gzip("\x32\x00" * 16_000_000)
    refuse("bomb.pb.gz", member * 200)
  end

  def test_a_gzip_bomb_in_one_field
    head = [0x32, 0xff, 0xff, 0xff, 0xff, 0x0f].pack("C*")
    refuse("bomb.pb.gz", Zlib.gzip(head) + Zlib.gzip("\0" * 32_000_000) * 140)
  end

  def test_every_cut_of_a_good_profile_is_refused_or_read
    place = folder("cuts")
    random = Random.new(9)
    12.times do
      file = File.join(place, "cut.pb")
      File.binwrite(file, good[0, random.rand(1...good.bytesize)])
      profiler = Profiler.run("report", file)
      assert_includes [0, 5], profiler.status.exitstatus, "#{profiler.status}: #{profiler.err}"
    end
  end
end
