# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# Programs and libraries that are not as a distribution ships them.
module Builds
  FIXTURES = File.join(ROOT, "tests/fixtures")
  PATCHED = RUBY_VERSION.sub(/\d+\z/, "9")
  UNKNOWN = RUBY_VERSION.sub(/\d+\.\d+\z/, "9.9")

  # The file of the VM that this process maps.
  def libruby
    @libruby ||= File.readlines("/proc/self/maps", chomp: true).filter_map { |l| l[%r{/\S*libruby\S*\z}] }.first or
      skip "this ruby is static"
  end

  # A folder with a copy of ruby and its library, the version in it replaced.
  def copy(version = RUBY_VERSION)
    folder("copied").tap do |place|
      { libruby => File.basename(libruby), RUBY => "ruby" }.each do |from, to|
        File.binwrite(File.join(place, to), File.binread(from).gsub(RUBY_VERSION.b, version))
      end
      # It compares the version with its own.
      config = File.read($LOADED_FEATURES.find { |f| f.end_with?("/rbconfig.rb") })
      File.write(File.join(place, "rbconfig.rb"), config.sub(/RUBY_VERSION\.start_with\?\(.*?\)/, "true"))
      File.chmod(0o755, File.join(place, "ruby"))
      FileUtils.ln_s(File.basename(libruby), File.join(place, soname)) unless soname == File.basename(libruby)
    end
  end

  def soname = RbConfig::CONFIG["LIBRUBY_SONAME"]

  def compile(name, *sources_and_options)
    File.join(folder("compiled"), name).tap do |path|
      skip "no C compiler" unless command?("gcc")
      system("gcc", "-O1", "-o", path, *sources_and_options) or flunk "#{name} cannot be compiled"
    end
  end

  def headers
    places = RbConfig::CONFIG.values_at("rubyhdrdir", "rubyarchhdrdir")
    File.exist?(File.join(places[0], "ruby.h")) ? places.map { |p| "-I#{p}" } : skip("no headers of Ruby: make deps")
  end

  def start_copied(place, *options)
    Program.new("build.rb", ruby: [File.join(place, "ruby"), *options],
                            env: { "LD_LIBRARY_PATH" => place, "RUBYLIB" => place })
  end

  def ps = JSON.parse(Profiler.run("ps", "--json").out)["processes"].to_h { |row| [row["pid"], row] }

  HZ = 499

  # The names of known work, with its CPU.
  def assert_known_work(samples, truth)
    works = { "Known.single" => truth["single_ns"], "Worker#instance_work" => truth["instance_ns"] }
    # What a process did before its runtime was known is told, not named; it belongs to the first.
    early = samples.select { |s| s.frame?("(runtime not yet known)") }
    works.each { |name, ns| assert_work ns, samples, name, HZ, unknown: early }
    assert_work truth["helper_ns"], samples, "Object#helper_work", HZ
    assert_equal ["helper"], samples.select { |s| s.frame?("Object#helper_work") }.reject(&:gc?).map(&:thread).uniq
    assert_equal ["block in Known.single", "Array#each", "Known.single", "<main>"],
                 samples.find { |s| s.frame?("Known.single") && s.frame?("Object#burn") }
                        .names.drop_while { |n| n != "block in Known.single" }
  end
end

# All of them at once, in one recording of the host.
class TestBuilds < E2E
  include Builds

  # To each a program, or why there is none.
  KINDS = %w[patched unknown static stripped embedded deleted replaced].freeze

  once(:seen) do
    late = start_late
    since = Clock.now
    programs = KINDS.to_h { |kind| [kind, start(kind)] }
    running = programs.values.grep(Program)
    rows = ps
    profiler = Profiler.start("-a", "-F", HZ, "--stats=json")
    running.each(&:go)
    # Long after its start: what is true of a program that is being loaded is not true of it.
    sleep [since + 2.5 - Clock.now, 0].max
    late.go
    [*running, late].each { |p| p.expect("done") }
    rows[late.pid] = ps[late.pid]
    running.each(&:cpu_ns)
    profiler.stop
    statuses = [*running, late].map(&:finish)
    assert_code 0, profiler
    { profiler: profiler, profile: profiler.profile, programs: programs.merge("late" => late), ps: rows,
      statuses: statuses }
  end

  def start(kind)
    send("start_#{kind}")
  rescue Minitest::Skip => e
    e.message
  end

  def start_patched = start_copied(copy(PATCHED))
  def start_unknown = start_copied(copy(UNKNOWN))

  def static(index)
    script = File.join(ROOT, "tests/static-ruby")
    paths = IO.popen([script, "--path"], err: File::NULL, &:readlines)
    paths[index]&.chomp || skip("a static ruby is not there: tests/static-ruby")
  end

  def start_static = Program.new("build.rb", ruby: [static(0)])
  def start_stripped = Program.new("build.rb", ruby: [static(1)])

  def start_embedded
    path = compile("other-name", File.join(Builds::FIXTURES, "embed.c"), *headers, libruby, "-lm")
    Program.new("build.rb", ruby: [path])
  end

  # C68
  def start_deleted
    place = copy
    start_copied(place).tap { FileUtils.rm_rf(place) }
  end

  def start_replaced
    place = copy
    start_copied(place).tap do
      file = File.join(place, File.basename(libruby))
      File.rename(file, "#{file}.old")
      File.binwrite(file, File.binread(RUBY))
    end
  end

  def start_late
    Program.new("build.rb", "at once", ruby: [compile("late", File.join(PROGRAMS, "late_ruby.c"), "-ldl"), libruby])
  end

  def program(kind)
    seen[:programs][kind].tap { |found| skip found if found.is_a?(String) }
  end

  def samples(kind) = seen[:profile].of(program(kind).pid)

  %w[patched static stripped embedded deleted replaced late].each do |kind|
    define_method("test_#{kind}_is_profiled") do
      assert_known_work samples(kind), program(kind).truth
      assert_equal [program(kind).truth["version"]], samples(kind).map { |s| s.labels["ruby"] }.uniq
      assert_closes seen[:profiler], program(kind).pid
    end

    define_method("test_#{kind}_is_in_ps") do
      row = seen[:ps][program(kind).pid]
      assert row, "#{kind} is not in ps"
      assert_equal [true, "proved", program(kind).truth["version"]], row.values_at("ok", "proof", "ruby"), row.inspect
      shape = %w[static stripped].include?(kind) ? "static" : "shared"
      assert_includes row["build"], shape
      assert_includes row["build"], "stripped" unless kind == "static"
      refute_includes row["build"], "stripped" if kind == "static"
      refute_includes row["path"], "(deleted)"
    end
  end

  (KINDS - ["unknown"]).each do |kind|
    define_method("test_#{kind}_has_all_its_cpu") do
      assert_cpu program(kind).cpu_ns, samples(kind).sum(&:cpu), kind
    end
  end

  # What it used before it was Ruby belongs to it, too, but from when on we knew.
  def test_a_late_one_begins_when_it_is_known
    cpu = samples("late").sum(&:cpu)
    assert_operator cpu, :>=, program("late").truth["process_ns"]
    assert_operator cpu, :<=, program("late").truth["total_ns"] + 20_000_000
  end

  # C47
  def test_a_patch_release_that_is_not_in_the_tables_works_with_a_note
    assert_equal PATCHED, program("patched").truth["version"]
    assert_match(/#{Regexp.escape(PATCHED)}.*newer/, seen[:profiler].err)
  end

  # C48
  def test_an_unknown_release_is_told_and_its_cpu_counted
    mine = samples("unknown")
    assert_equal [["(unreadable)"]], mine.select(&:running?).map(&:names).uniq
    assert_cpu program("unknown").cpu_ns, mine.sum(&:cpu), "refused process"
    last = seen[:profiler].err.lines.grep(/#{program("unknown").pid}/).last
    assert_match(/ruby version not supported/, last.to_s)
    assert_match(/#{Regexp.escape(UNKNOWN)}/, last.to_s)
    refute_empty samples("deleted"), "the others go on"
  end

  def test_an_unknown_release_is_in_ps_with_its_reason
    row = seen[:ps][program("unknown").pid]
    assert row, "it is not in ps"
    assert_equal false, row["ok"]
    assert_match(/version not supported/, row["reason"])
    assert_match(/#{Regexp.escape(UNKNOWN)}/, row["reason"])
  end

  def test_nothing_is_called_deleted
    texts = seen[:profile].functions.values.flat_map { |f| f.values_at(:name, :file) } +
            seen[:profile].mappings.values.map { |m| m[:file] } + seen[:profile].comments
    assert_empty texts.grep(/\(deleted\)/)
  end

  def test_every_program_ended_well
    assert_equal [true], seen[:statuses].map(&:success?).uniq, seen[:statuses].inspect
  end
end

# One at a time, as a target of its own.
class TestBuildTargets < E2E
  include Builds

  def test_an_unknown_release_as_the_only_target
    program = start_copied(copy(UNKNOWN))
    profiler = Profiler.record("-p", program.pid, "-d", "1")
    assert_error profiler, 3, /#{program.pid}/, /version not supported/
    refute_path_exists profiler.file
    assert_error Profiler.run("dump", "-p", program.pid), 3, /version not supported/
    program.finish
  end

  def test_an_unknown_release_beside_a_known_one
    unknown, known = start_copied(copy(UNKNOWN)), Program.new("build.rb")
    profiler = Profiler.start("-p", "#{unknown.pid},#{known.pid}", "-F", HZ)
    [unknown, known].each(&:run)
    profiler.stop
    [unknown, known].each(&:finish)
    assert_code 0, profiler
    assert_match(/#{unknown.pid}.*version not supported/, profiler.err)
    assert_known_work profiler.profile.of(known.pid), known.truth
  end

  def test_a_command_that_becomes_ruby
    truth = Program.truth_path
    reader, writer = IO.pipe
    path = compile("late", File.join(PROGRAMS, "late_ruby.c"), "-ldl")
    profiler = Profiler.new("record", "-F", HZ, "-o", Profiler.new_file(".pb.gz"), "--stats=json", "--", path, libruby,
                            File.join(PROGRAMS, "build.rb"), "at once", env: { "TRUTH" => truth }, input: reader)
    reader.close
    writer.puts("go")
    writer.close
    profiler.wait
    assert_code 0, profiler
    truth = JSON.parse(File.read(truth))
    assert_known_work profiler.profile.of(truth["pid"]), truth
    # Its clock began with the fork.
    assert_in_delta truth["total_ns"], profiler.profile.of(truth["pid"]).sum(&:cpu), 20_000_000
  end

  def test_a_child_of_a_target_that_becomes_ruby
    path = compile("late", File.join(PROGRAMS, "late_ruby.c"), "-ldl")
    program = Program.new("starts_late.rb", path, libruby, File.join(PROGRAMS, "build.rb"), "at once")
    profiler = Profiler.start("-p", program.pid, "-F", HZ)
    program.run
    profiler.stop
    child, truth = program.truth.values_at("child", "of_child")
    program.finish
    assert_code 0, profiler
    assert_known_work profiler.profile.of(child), truth
  end
end
