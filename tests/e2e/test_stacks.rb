# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# Stacks are whole, or say what was left out.
class TestDepth < E2E
  DEPTHS = [127, 128, 129, 980, 1_023, 1_024, 1_025, 5_000, 9_000].freeze

  once(:seen) do |max_frames|
    program = Program.new("deep.rb", 0.12, *DEPTHS)
    options = max_frames ? ["--max-frames", max_frames] : []
    profiler = Profiler.start("-p", program.pid, "-F", 499, "--stats=json", *options)
    program.run
    profiler.stop
    program.finish
    assert_code 0, profiler
    { profiler: profiler, truth: program.truth, samples: profiler.profile.of(program.pid) }
  end

  # Leaf first, from the frame that knows how deep it stands.
  def stacks_under(samples, leaf)
    named(samples).select { |s| s.frame?(leaf) }.map { |s| [s, s.stack.drop_while { |f| f.name != leaf }] }
  end

  def check_depth(seen, name, leaf, max_frames)
    found = stacks_under(seen[:samples], "Object##{leaf}")
    refute_empty found, "no sample of #{leaf}"
    expected = seen[:truth].fetch(name)
    found.each do |sample, stack|
      assert_equal "<main>", sample.root, "the root of #{name}"
      kept = stack.count { |f| f.name != "(truncated)" }
      omitted = sample.labels["omitted frames"] || 0
      assert_equal expected, kept + omitted, "depth of #{name}"
      next if sample.gc? # one frame more, and not of the thread's

      total = sample.stack.count { |f| f.name != "(truncated)" } + omitted
      check_truncation(sample, total, max_frames, name)
    end
  end

  def check_truncation(sample, total, max_frames, name)
    marks = sample.names.count("(truncated)")
    if total <= max_frames
      assert_equal 0, marks, "#{name} of #{total} frames is whole"
      refute_includes sample.labels, "omitted frames"
    else
      assert_equal 1, marks, "one mark in #{name}"
      assert_equal max_frames, sample.stack.size - 1, "frames kept of #{name}"
      assert_equal 32, sample.names.reverse.index("(truncated)"), "root-most frames of #{name}"
      mark = sample.stack.find { |f| f.name == "(truncated)" }
      assert_equal ["<rbprof>", 0], [mark.file, mark.line]
    end
  end

  DEPTHS.each do |depth|
    define_method("test_depth_#{depth}") { check_depth(seen(nil), "down_#{depth}", "leaf_#{depth}", 1_000) }
    define_method("test_depth_#{depth}_with_4000_frames") do
      check_depth(seen(4_000), "down_#{depth}", "leaf_#{depth}", 4_000)
    end
  end

  def test_recursion_through_c_methods_has_no_repeats
    check_depth(seen(nil), "through", "through_leaf", 1_000)
    stacks_under(seen(nil)[:samples], "Object#through_leaf").each do |_, stack|
      levels = stack.map(&:name).tally
      assert_equal({ "Object#through_leaf" => 1, "Object#through" => 200, "Array#each" => 199,
                     "block in Object#through" => 199, "<main>" => 1 }, levels)
    end
  end

  # C9: both keep their root, though what lies between is equal.
  def test_two_deep_stacks_keep_their_roots
    roots = stacks_under(seen(nil)[:samples], "Object#shared_leaf").map { |_, stack| stack[-2].name }
    assert_equal %w[Object#root_one Object#root_two], roots.uniq.sort
  end

  def test_max_frames_0_has_totals_only
    sums = seen(0)[:samples]
    refute_empty sums
    assert sums.all? { |s| s.stack.empty? || s.stack.all? { |f| f.file == "<rbprof>" } },
           sums.flat_map(&:names).tally.inspect
    assert_closes seen(0)[:profiler]
  end

  def test_every_error_is_rare
    assert_named seen(nil)[:samples], 0.005, seen(nil)[:profiler].stats["errors"]
    # Some are counted by the frame: one stack may have a thousand.
    errors = seen(nil)[:profiler].stats["errors"].reject { |name, _| name == "clock_debt" || name.start_with?("name_") }
    taken = seen(nil)[:profiler].stats["ticks"]["taken"]
    assert_operator errors.values.sum, :<=, Chance.most(taken * 0.01), errors.inspect
  end
end

# Each fiber, thread and ractor has a stack of its own.
class TestOwnStacks < E2E
  once(:fibers) do
    program = Program.new("fibers.rb")
    profiler = Profiler.start("-p", program.pid, "-F", 997)
    program.run
    profiler.stop
    program.finish
    assert_code 0, profiler
    assert_named profiler.profile.of(program.pid)
  end

  def test_a_fiber_shows_its_own_frames_only
    %w[left right].each do |side|
      other = side == "left" ? "right" : "left"
      mine = fibers.select { |s| s.frame?("Object##{side}_leaf") }
      assert_operator mine.sum(&:cpu), :>, 200_000_000
      mine.each do |s|
        assert s.frame?("Object##{side}_body"), s.names.inspect
        refute s.frame?("Object##{other}_body"), s.names.inspect
        refute s.frame?("Object#resume_both"), "the fiber's stack begins at its block: #{s.names}"
      end
    end
  end

  def test_an_enumerator_has_one_root
    source = fibers.select { |s| s.frame?("Object#source_leaf") }
    assert_operator source.sum(&:cpu), :>, 200_000_000
    assert_equal 1, source.map(&:root).uniq.size, source.map(&:names).inspect
  end

  def test_many_fibers_are_no_roots_of_their_own
    # The lines of the program's own that call them, and what stands for a stack: not all fifty.
    assert_operator fibers.map { |s| s.stack.last.to_s }.uniq.size, :<=, 15
  end

  once(:ractors) do
    program = Program.new("ractors.rb", ruby: [RUBY, "-W:no-experimental"])
    profiler = Profiler.start("-p", program.pid, "-F", 499, "--stats=json")
    program.run
    profiler.stop
    program.finish
    assert_code 0, profiler
    { truth: program.truth, samples: assert_named(profiler.profile.of(program.pid)), path: program.path }
  end

  # C1: what one ractor or thread runs never shows under another's native thread.
  def test_ractors_and_threads_show_their_own_stacks
    truth = ractors[:truth]
    assert_equal %w[ractor_a ractor_b thread_c thread_d], truth.keys.sort
    truth.each do |name, thread|
      mine = ractors[:samples].select { |s| s.frame?("Object##{name}") }
      assert_equal [thread["tid"]], mine.reject(&:gc?).map(&:tid).uniq, name
      assert_work thread["cpu_ns"], mine, "Object##{name}", 499, turns: 20 # as many as the GVL may take
    end
  end

  def test_ractors_are_named_by_where_they_start
    ractors[:truth].each do |name, thread|
      mine = ractors[:samples].select { |s| s.frame?("Object##{name}") }
      assert_equal ["#{ractors[:path]}:#{thread["line"]}"], mine.reject(&:gc?).map(&:thread).uniq, name
    end
  end
end

# What Ruby says of its own stack is what we say.
class TestOracle < E2E
  C_FUNCTIONS = %w[each each_pair map times sort_by each_slice gsub loop catch call new load eval next
                   first lazy instance_exec initialize send public_send each_entry resume rewind yield << join
                   class_eval tap each_with_index take method_missing synchronize require sort].freeze

  once(:seen) do
    program = Program.new("oracle.rb")
    profiler = Profiler.start("-p", program.pid, "-F", 997)
    program.run
    profiler.stop
    program.finish
    assert_code 0, profiler
    { truth: program.truth, samples: assert_named(profiler.profile.of(program.pid)) }
  end

  def expected_text(path, line, label, base) = "#{label} (#{base}) #{path}:#{line}"

  # The file and line of a C function are those of its caller for Ruby, `<cfunc>` for us.
  def fits?(frame, path, line, label, base)
    return C_FUNCTIONS.include?(label) && frame.name.match?(/[#.]#{Regexp.escape(label)}\z/) if frame.file == "<cfunc>"

    block = label[/\A(block .*in|rescue in|ensure in) /]
    frame.file == path && frame.line == line && frame.name.end_with?(base) &&
      (block ? frame.name.start_with?(block) : !frame.name.match?(/\A(block|rescue in|ensure in) /))
  end

  29.times do |i|
    define_method("test_shape_#{i}") do
      expected = seen[:truth].fetch("mark_#{i}")
      stacks = seen[:samples].select { |s| s.frame?("Object#mark_#{i}") }
                            .map { |s| s.stack.drop_while { |f| f.name != "Object#mark_#{i}" }.drop(1) }
      refute_empty stacks, "mark_#{i} not seen"
      stacks.uniq.each do |stack|
        good = stack.size == expected.size && stack.zip(expected).all? { |frame, e| fits?(frame, *e) }
        assert good, "seen:\n  #{stack.join("\n  ")}\nRuby says:\n  #{expected.map { |e| expected_text(*e) }.join("\n  ")}"
      end
    end
  end

  def test_there_are_no_more_shapes
    assert_equal 29, seen[:truth].size
  end
end

# C35: lines are exact.
class TestLines < E2E
  once(:seen) do
    program = Program.new("lines.rb")
    profiler = Profiler.start("-p", program.pid, "-F", 997)
    program.run
    profiler.stop
    program.finish
    samples = assert_named(profiler.profile.of(program.pid))
    { truth: program.truth.transform_keys(&:to_i), samples: samples, path: program.path }
  end

  def callers
    seen[:samples].filter_map do |s|
      place = s.names.index("Object#work") and [s.stack[place + 1], s.cpu]
    end
  end

  def test_the_lines_are_those_where_work_is_called
    assert_equal seen[:truth].keys.sort, callers.map { |frame, _| frame.line }.uniq.sort
    assert_equal [seen[:path]], callers.map { |frame, _| frame.file }.uniq
  end

  def test_each_line_has_its_share
    total = callers.sum(&:last).to_f
    all = seen[:truth].values.sum.to_f
    seen[:truth].each do |line, ns|
      mine = callers.select { |frame, _| frame.line == line }.sum(&:last)
      assert_share ns / all, mine / total, 1.5, "line #{line}"
    end
  end

  def test_no_line_is_zero_and_first_lines_are_set
    frames = seen[:samples].flat_map(&:stack).reject { |f| %w[<cfunc> <rbprof>].include?(f.file) }.uniq
    assert_empty frames.select { |f| f.line.zero? }
    # For Ruby itself a file begins in line 0.
    assert_empty frames.select { |f| f.start_line.zero? && f.name != "<main>" }
    assert_empty frames.select { |f| f.start_line > f.line }
    source = File.readlines(seen[:path])
    many = frames.find { |f| f.name == "Object#many_lines" }
    assert_match(/def many_lines/, source[many.start_line - 1])
  end
end
