# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# Labels of threads: spec of `thread name` and `thread id`.
class TestThreadNames < E2E
  once(:seen) do
    place = folder("gem")
    program = Program.new("thread_names.rb", place)
    profiler = Profiler.start("-p", program.pid, "-F", 997, "--stats=json")
    program.run
    profiler.stop
    program.finish
    assert_code 0, profiler
    { profiler: profiler, truth: program.truth, pid: program.pid, path: program.path, place: place,
      samples: profiler.profile.of(program.pid) }
  end

  def names_of(key)
    tid = seen[:truth].fetch(key)["tid"]
    seen[:samples].select { |s| s.tid == tid && s.frame?("Object#note") }.reject(&:gc?).map(&:thread).uniq
  end

  { "long" => "a-thread-name-longer-than-fifteen-bytes", "accents" => "\u00e9" * 9,
    "separators" => "a;b\tc\n\"d\"", "empty" => "", "invalid" => "caf\ufffd" }.each do |key, name|
    define_method("test_a_name_that_is_#{key}") { assert_equal [name], names_of(key) }
  end

  def test_an_endless_name_is_cut_between_characters
    name, *others = names_of("endless")
    assert_empty others
    assert_match(/\A\u00e9+\u2026\z/, name)
    assert_includes 253..255, name.bytesize
  end

  def test_main
    tid = seen[:pid]
    assert_equal ["main"], seen[:samples].select { |s| s.tid == tid }.reject(&:gc?).map(&:thread).uniq
  end

  def test_without_a_name_it_is_where_its_block_stands
    assert_equal ["#{seen[:path]}:#{seen[:truth]["unnamed"]["line"]}"], names_of("unnamed")
  end

  def test_without_a_block_of_ruby_it_comes_from_native_code
    assert_equal ["(Unnamed thread from native code)"], names_of("symbol")
    assert_equal ["(Unnamed thread from native code)"], names_of("proc")
  end

  def test_a_library_that_wraps_threads_is_not_their_name
    assert_equal ["(Unnamed thread)"], names_of("wrapped")
  end

  def test_a_renamed_thread_has_the_name_of_the_moment
    tid = seen[:truth].fetch("renamed")["tid"]
    names = seen[:samples].select { |s| s.tid == tid }.to_h { |s| [s.thread, s.cpu] }
    assert_includes names, "before"
    assert_includes names, "after"
    assert_equal ["after"], names_of("renamed")
  end

  def test_labels_of_the_process
    seen[:samples].each do |s|
      assert_equal ["#{COMM} (#{seen[:pid]})", seen[:pid], RUBY_VERSION], s.labels.values_at("process", "pid", "ruby")
      assert_match(/\A\d+ \((-1|\d+)\)\z/, s.labels["thread id"])
    end
  end
end

# Threads that the VM does not know, made by a C library.
class TestNativeThreads < E2E
  once(:seen) do
    library = File.join(folder("native"), "native_threads.so")
    skip "no C compiler" unless system(ENV.fetch("CC", "gcc"), "-shared", "-fPIC", "-O1", "-pthread", "-o", library,
                                       File.join(PROGRAMS, "native_threads.c"))
    program = Program.new("native_threads.rb", library)
    profiler = Profiler.start("-p", program.pid, "-F", 499, "--stats=json")
    program.run
    profiler.stop
    program.finish
    assert_code 0, profiler
    { profiler: profiler, truth: program.truth, samples: profiler.profile.of(program.pid) }
  end

  def of(thread) = seen[:samples].select { |s| s.tid == thread["tid"] }

  def test_a_long_one_has_no_ruby_frames
    mine = of(seen[:truth][0])
    refute_empty mine
    assert_equal [["(no ruby frames)"]], mine.reject(&:overhead?).map(&:names).uniq - [["(wait not read)"]]
    assert_equal ["<rbprof>"], mine.flat_map(&:stack).map(&:file).uniq
  end

  def test_its_name_is_its_comm_and_it_has_no_object
    mine = of(seen[:truth][0])
    assert_equal ["native-burner"], mine.reject(&:gc?).map(&:thread).uniq
    assert_equal ["#{seen[:truth][0]["tid"]} (-1)"], mine.map { |s| s.labels["thread id"] }.uniq
  end

  def test_each_short_one_has_its_cpu
    tids = seen[:truth].group_by { |t| t["tid"] }
    skip "the kernel used a thread id again" if tids.values.any? { |t| t.size > 1 }
    seen[:truth].each do |thread|
      # Its end comes after its last look at its clock.
      assert_cpu thread["cpu_ns"], of(thread).sum(&:cpu), "native thread of #{ms(thread["cpu_ns"])}", tail: 10_000_000
    end
  end

  def test_the_process_closes
    assert_closes seen[:profiler]
  end
end

# C12: threads that hardly live.
class TestChurn < E2E
  def test_failures_are_counted_and_rare
    program = Program.new("churn.rb", 2)
    profiler = Profiler.start("-p", program.pid, "-F", 997, "--stats=json")
    program.run
    used = program.cpu_ns
    profiler.stop
    program.finish
    assert_code 0, profiler
    assert_closes profiler, program.pid
    assert_cpu used, profiler.profile.of(program.pid).sum(&:cpu), "process"
    errors = profiler.stats["errors"].except("clock_debt")
    assert_operator errors.values.sum, :<=, Chance.most(profiler.stats["ticks"]["taken"] * 0.01), errors.inspect
  end
end
