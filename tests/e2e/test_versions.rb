# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# Every Ruby at once, each with its own layout: one recording of the whole host (C58). What they
# say is compared with what the machine's own Ruby says.
class TestVersions < E2E
  ROOTS = %w[2.7 3.3 3.4].freeze
  KINDS = ["own", "own with yjit", *ROOTS].freeze
  SHARED = ["3.3", "3.4"].freeze # M:N threads

  HZ = 499

  once(:seen) do
    programs = KINDS.to_h { |kind| [kind, start(kind)] }.compact
    shared = SHARED.select { |version| Rubies.path(version) }.to_h do |version|
      [version, Program.new("many_to_many.rb", ruby: Rubies.command(version), env: { "RUBY_MN_THREADS" => "1" })]
    end
    profiler = Profiler.start("-a", "-F", HZ, "--stats=json")
    all = programs.values + shared.values
    all.each(&:go)
    all.each { |program| program.expect("done") }
    ps = JSON.parse(Profiler.run("ps", "--json").out)["processes"]
    all.each(&:cpu_ns)
    profiler.stop
    statuses = all.map(&:finish)
    assert_code 0, profiler
    { profiler: profiler, profile: profiler.profile, programs: programs, shared: shared, statuses: statuses,
      ps: ps }
  end

  def start(kind)
    case kind
    when "own" then Program.new("everywhere.rb")
    when "own with yjit" then Program.new("everywhere.rb", ruby: [RUBY, "--yjit"]) if yjit?
    else Program.new("everywhere.rb", ruby: Rubies.command(kind)) if Rubies.path(kind)
    end
  end

  def yjit? = system(RUBY, "--yjit", "-e", "exit RUBY_DESCRIPTION.include?('YJIT')", err: File::NULL)

  def program(kind)
    seen[:programs][kind] ||
      skip(ROOTS.include?(kind) ? "ruby #{kind} is not there: tests/rubies #{kind}" : "this ruby has no yjit")
  end

  def samples(kind) = seen[:profile].of(program(kind).pid)

  # What the language itself changed. Methods that were C functions are Ruby code since then:
  IN_RUBY = { "Kernel#tap" => "3.0", "Kernel#loop" => "3.2", "Integer#times" => "3.3" }.freeze
  # The file of code that was evaluated without one, since 3.3:
  EVALUATED = "(eval at #{File.join(PROGRAMS, "everywhere.rb")}:131)"
  # The first line of a rescue is its own, not its method's, since 3.4 (the new parser):
  RESCUE = "rescue in Shape#with_rescue everywhere.rb:55/"

  def as_this_ruby(text, version)
    text = text.sub(EVALUATED, "(eval)") if since?(version, "3.3") && !since?(RUBY_VERSION, "3.3")
    text = text.sub("#{RESCUE}54", "#{RESCUE}52") if since?(version, "3.4") && !since?(RUBY_VERSION, "3.4")
    text
  end

  def since?(version, first) = Gem::Version.new(version) >= Gem::Version.new(first)

  # All stacks from the caller of work to the root.
  def stacks(kind)
    named(samples(kind)).filter_map do |sample|
      place = sample.names.index("Object#work") or next
      sample.stack.drop(place + 1).map { |frame| frame_text(frame) }
    end.uniq.sort
  end

  def frame_text(frame)
    return frame.name if frame.file == "<cfunc>" || frame.file.start_with?("<internal:")

    file = frame.file.start_with?("/") ? File.basename(frame.file) : frame.file
    "#{frame.name} #{file}:#{frame.line}/#{frame.start_line}"
  end

  KINDS.each do |kind|
    define_method("test_the_same_stacks_on_#{kind.tr(" .", "__")}") do
      version = program(kind).truth["version"]
      mine = stacks(kind).map { |stack| stack.map { |text| as_this_ruby(text, version) } }
      assert_empty stacks("own") - mine, "missing on #{version}"
      assert_empty mine - stacks("own"), "only on #{version}"
      assert_equal 42, mine.size
    end

    define_method("test_c_functions_and_ruby_code_on_#{kind.tr(" .", "__")}") do
      version = program(kind).truth["version"]
      IN_RUBY.each do |name, since|
        files = samples(kind).flat_map(&:stack).select { |f| f.name == name }.map(&:file).uniq
        expected = since?(version, since) ? /\A<internal:/ : /\A<cfunc>\z/
        refute_empty files, name
        assert_equal 1, files.size, name
        assert_match expected, files[0], "#{name} on #{version}"
      end
    end

    define_method("test_labels_on_#{kind.tr(" .", "__")}") do
      pid = program(kind).pid
      assert_equal [program(kind).truth["version"]], samples(kind).map { |s| s.labels["ruby"] }.uniq
      assert_equal 1, samples(kind).map { |s| s.labels["process"] }.uniq.size
      assert_match(/\Aruby[\d.]* \(#{pid}\)\z/, samples(kind)[0].labels["process"])
    end

    define_method("test_each_thread_has_its_cpu_on_#{kind.tr(" .", "__")}") do
      threads = program(kind).truth["threads"]
      assert_equal %w[main named nameless], threads.map { |t| t["kind"] }.sort
      threads.each do |thread|
        cpu = samples(kind).select { |s| s.tid == thread["tid"] }.sum(&:cpu)
        assert_cpu thread["cpu_ns"], cpu, "thread #{thread["kind"]}", tail: 20_000_000
      end
      assert_cpu program(kind).cpu_ns, samples(kind).sum(&:cpu), "process"
      assert_closes seen[:profiler], program(kind).pid
    end

    define_method("test_threads_have_their_names_on_#{kind.tr(" .", "__")}") do
      by_work = %w[named_work nameless_work work].to_h do |name|
        [name, samples(kind).select { |s| s.frame?("Object##{name}") }.map(&:thread).uniq]
      end
      assert_equal({ "named_work" => ["a name longer than fifteen bytes"], "work" => ["main"],
                     "nameless_work" => ["#{program(kind).path}:#{program(kind).truth["nameless_line"]}"] }, by_work)
    end

    define_method("test_a_deep_stack_on_#{kind.tr(" .", "__")}") do
      deep = named(samples(kind)).select { |s| s.frame?("Object#deep_leaf") }
      refute_empty deep
      deep.each do |sample|
        below = sample.names.index("Object#deep_leaf")
        assert_equal ["<main>", 1, 1_001], [sample.root, sample.names.count("(truncated)"), sample.stack.size]
        assert_equal program(kind).truth["depth"], sample.stack.size - 1 - below + sample.labels["omitted frames"]
        assert_equal ["Object#down"], sample.names.drop(below + 1).uniq - ["(truncated)", "<main>"]
      end
    end

    define_method("test_fibers_on_#{kind.tr(" .", "__")}") do
      %w[left right].each do |side|
        assert_work program(kind).truth["fibers_ns"][side], samples(kind), "Object##{side}_leaf", HZ, turns: 40
        mine = named(samples(kind)).select { |s| s.frame?("Object##{side}_leaf") }
        mine.each do |sample|
          assert sample.frame?("Object##{side}_body"), sample.names.inspect
          refute_equal "<main>", sample.root
        end
      end
    end

    define_method("test_ractors_on_#{kind.tr(" .", "__")}") do
      ractors = program(kind).truth["ractors"]
      skip "ruby #{kind} has no ractors" if ractors.empty?
      ractors.each do |ractor|
        assert_work ractor["cpu_ns"], samples(kind).select { |s| s.tid == ractor["tid"] }, "Object#ractor_work", HZ, turns: 5
      end
      working = samples(kind).select { |s| s.frame?("Object#ractor_work") }
      assert_equal ractors.map { |r| r["tid"] }.sort, working.map(&:tid).uniq.sort
    end

    define_method("test_nothing_is_without_a_name_on_#{kind.tr(" .", "__")}") do
      assert_named samples(kind)
      samples(kind).flat_map(&:names).uniq.each { |name| refute_match(/0x\h/, name) }
    end

    define_method("test_ps_says_how_it_is_read_on_#{kind.tr(" .", "__")}") do
      row = seen[:ps].find { |p| p["pid"] == program(kind).pid }
      assert row, "#{program(kind).pid} is not in ps"
      assert_equal [true, "proved", program(kind).truth["version"]], row.values_at("ok", "proof", "ruby"), row.inspect
      assert_includes row["build"], "shared"
      tier = since?(row["ruby"], "3.3") ? "code" : "symbol"
      assert_equal [tier, tier], row["tier"].values_at("ec", "vm"), row.inspect unless kind.start_with?("own")
      refute row.key?("reason")
    end
  end

  SHARED.each do |version|
    define_method("test_threads_that_share_native_ones_on_#{version.tr(".", "_")}") do
      program = seen[:shared][version] or skip "ruby #{version} is not there: tests/rubies #{version}"
      mine = seen[:profile].of(program.pid)
      assert_cpu program.cpu_ns, mine.sum(&:cpu), "process"
      assert_closes seen[:profiler], program.pid
      working = mine.select { |s| s.frame?("Object#unit") }
      units = program.truth["units"]
      off = units.map do |name, count|
        share = working.select { |s| s.thread == name }.sum(&:cpu).to_f / working.sum(&:cpu)
        ((share * units.values.sum / count) - 1).abs.round(3)
      end
      said = seen[:profile].comments.any? { |c| c.include?("M:N") && c.include?(program.pid.to_s) }
      assert off.max <= 0.05 || said, "neither right (off by #{off}) nor said: #{seen[:profile].comments}"
      assert_equal units.keys.sort, working.map(&:thread).uniq.sort
    end
  end

  def test_every_program_ended_well
    assert_equal [true], seen[:statuses].map(&:success?).uniq, seen[:statuses].inspect
  end

  def test_each_runtime_is_told_once
    versions = (seen[:programs].values.map { |p| p.truth["version"] }).uniq
    versions.each do |version|
      comments = seen[:profile].comments
      assert_equal 1, comments.grep(/\Aruby: #{Regexp.escape(version)} /).size, comments.inspect
    end
  end
end
