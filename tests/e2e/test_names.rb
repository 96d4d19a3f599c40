# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# Every shape of method has a name that says what it is, and never an address.
class TestNames < E2E
  once(:seen) do
    program = Program.new("names.rb")
    profiler = Profiler.start("-p", program.pid, "-F", 997, "--stats=json")
    program.run
    profiler.stop
    program.finish
    assert_code 0, profiler
    { profiler: profiler, path: program.path, samples: assert_named(profiler.profile.of(program.pid)),
      longest_ns: program.truth["longest_ns"] }
  end

  # The frames that call work.
  once(:callers) do
    seen[:samples].filter_map { |s| (i = s.names.index("Object#work")) && [s.stack[i + 1], s.cpu] }
                 .group_by { |frame, _| frame.name }
                 .transform_values { |list| [list[0][0], list.sum(&:last)] }
  end

  def assert_caller(name, file: seen[:path], times: 1)
    frame, cpu = callers[name]
    assert frame, "#{name.inspect} not among #{callers.keys}"
    assert_equal file, frame.file
    # One call of work is never shorter than 30 ms by its clock, and as long as it says.
    assert_includes ((30_000_000 - 8_000_000) * times..(seen[:longest_ns] + 8_000_000) * times), cpu
    frame
  end

  { "an instance method" => "Shape#plain", "a singleton method" => "Shape.single",
    "a comparison" => "Shape#<=>", "a setter" => "Shape#value=", "an index" => "Shape#[]",
    "a unary operator" => "Shape#-@", "a question" => "Shape#ask?", "a bang" => "Shape#do!",
    "a method of class << self" => "Shape.in_singleton_class",
    "a nested class" => "Shape::Inner#nested", "a nested module" => "Foo::Bar.baz",
    "a module's singleton method" => "Mixed.of_module", "a method mixed in" => "Mixed#mixed_in",
    "a method prepended" => "Prepended#plain_prepended",
    "a method of a nameless class" => "(anonymous Class)#of_nameless",
    "a singleton method of a nameless module" => "(anonymous Module).of_nameless_module",
    "a method of a class named later" => "NAMED_LATER#named_later",
    "a method of one object" => "(singleton of Object).only_mine",
    "a method by define_method" => "Shape#by_block",
    "a name with separators" => "Shape#a;b\nc \u00e9", "a name that is not UTF-8" => "Shape#\ufffd\ufffd",
    "a name with markup" => "Shape#</script><b>", "a class body" => "<class:Shape>",
    "a singleton class body" => "singleton class", "a module body" => "<module:Foo>",
    "method_missing" => "Missing#method_missing" }.each do |what, name|
    define_method("test_#{what.tr(" ", "_")}") do
      times = %w[Shape#plain Shape.single].include?(name) ? 2 : 1 # by an heir, too
      assert_caller(name, times: times)
    end
  end

  def test_a_long_name_is_cut
    name = callers.keys.find { |n| n.include?("xxxxxxxx") }
    assert name
    assert name.end_with?("x\u2026"), name[-5..]
    assert_operator name.bytesize, :<=, 1_024
    assert_operator name.bytesize, :>=, 1_000
  end

  def test_a_refined_method
    name = callers.keys.find { |n| n.include?("refined") }
    assert name, callers.keys.inspect
    assert_match(/String.*#refined\z/, name)
  end

  def test_an_aliased_method
    assert callers.keys.intersect?(%w[ALIASED#aliased ALIASED#original]), callers.keys.inspect
  end

  def test_evaluated_code_keeps_its_path_and_line
    frame = assert_caller("Shape#evaluated", file: "odd dir/(x);\n\"q\".rb")
    assert_equal [7, 7], [frame.line, frame.start_line]
    assert_caller("Object#bare_eval", file: "(eval)")
  end

  def test_blocks
    assert_equal ["Array#each"], above("block in <main>")
    assert callers.key?("block in <main>")
    assert seen[:samples].any? { |s| s.frame?("BasicObject#instance_exec") }
  end

  # What stands over that caller of work.
  def above(name)
    seen[:samples].filter_map do |s|
      place = s.names.index("Object#work") or next
      s.names[place + 2] if s.names[place + 1] == name && s.names[place + 2] == "Array#each"
    end.uniq
  end

  def test_no_name_holds_an_address
    seen[:samples].flat_map(&:stack).uniq.each { |f| refute_match(/0x\h/, f.name) }
  end

  def test_the_root_is_main
    assert_equal ["<main>"], seen[:samples].reject { |s| s.stack[0]&.file == "<rbprof>" }.map(&:root).uniq
  end

  def test_nothing_is_without_a_name
    special = seen[:samples].select { |s| s.stack.any? { |f| f.file == "<rbprof>" } }
    assert_operator ticks(special), :<=, Chance.most(0.005 * ticks(seen[:samples])), special.map(&:names).tally.inspect
  end

  def test_system_names_are_empty
    assert_empty seen[:profiler].profile.functions.values.reject { |f| f[:system_name].empty? }
  end
end

# C33, C74: C functions, of libraries that were loaded after we attached, too.
class TestNativeNames < E2E
  once(:seen) do
    program = Program.new("native.rb")
    profiler = Profiler.start("-p", program.pid, "-F", 997)
    program.run
    profiler.stop
    program.finish
    assert_code 0, profiler
    profiler.profile.of(program.pid)
  end

  { "Object#crypto" => "OpenSSL::KDF.pbkdf2_hmac", "Object#compress" => "Zlib::Deflate.deflate",
    "Object#sorting" => /#sort_by\z/, "Object#counting" => "Integer#times",
    "Object#comparing" => /#max_by\z/, "Object#ordering" => "Array#sort",
    "Object#walking" => "Array#each", "Object#big_compare" => "Integer#<=>" }.each do |caller, name|
    define_method("test_#{caller.delete_prefix("Object#")}_shows_its_c_function") do
      mine = seen.select { |s| s.frame?(caller) }
      refute_empty mine, "no sample of #{caller}"
      frames = mine.flat_map { |s| s.stack.take_while { |f| f.name != caller } }
      found = frames.find { |f| name === f.name }
      assert found, "#{name} not among #{frames.map(&:name).tally}"
      assert_equal "<cfunc>", found.file
    end
  end

  def test_the_library_was_loaded_while_recording
    assert seen.any? { |s| s.frame?("Kernel#require") }, "the require itself"
    assert_empty seen.flat_map(&:names).grep(/unknown|0x\h/i)
  end
end

# C70, C72: code freed and defined anew never lends its name to other code.
class TestReload < E2E
  GENERATIONS = 45

  def record(stop_reader: false)
    program = Program.new("reload.rb", GENERATIONS)
    # A name lives for 50 ms only: on a busy machine the reader has to come before others.
    profiler = Profiler.start("-p", program.pid, "-F", 997, "--stats=json", prefix: %w[nice -n -20])
    program.go
    if stop_reader
      sleep 0.5
      profiler.signal(:STOP)
      sleep 2.5
      profiler.signal(:CONT)
    end
    program.expect("done")
    profiler.stop
    program.finish
    assert_code 0, profiler
    { profiler: profiler, truth: program.truth, samples: profiler.profile.of(program.pid) }
  end

  once(:seen) { record }
  once(:delayed) { record(stop_reader: true) }

  def by_generation(samples)
    samples.each_with_object(Hash.new(0)) do |s, sums|
      names = s.stack.filter_map { |f| f.name[/\bgen_\d+\z/] }.uniq
      assert_operator names.size, :<=, 1, s.names.inspect
      sums[names[0]] += s.cpu if names[0]
    end
  end

  def check_files(samples)
    samples.flat_map(&:stack).uniq.each do |f|
      number = f.name[/\bgen_(\d+)\z/, 1] or next
      assert_equal ["gen#{number}.rb", 2, 2], [f.file, f.line, f.start_line], f.to_s
    end
  end

  def test_each_generation_has_its_time
    sums = by_generation(seen[:samples])
    seen[:truth].each { |name, ns| assert_work ns, seen[:samples], /\b#{name}\z/, 997 }
    assert_empty sums.keys - seen[:truth].keys
  end

  def test_each_name_stands_with_its_file
    check_files(seen[:samples])
  end

  def test_few_names_are_gone
    assert_named seen[:samples]
  end

  def test_a_late_reader_says_gone_and_lies_never
    check_files(delayed[:samples])
    by_generation(delayed[:samples]).each do |name, ns|
      assert_operator ns, :<=, delayed[:truth].fetch(name) * 1.2, "#{name} has the time of others"
    end
    gone = delayed[:samples].select { |s| s.frame?("(gone)") }.sum(&:cpu)
    assert_operator gone, :>, 0, "names freed before they were read"
    assert_closes delayed[:profiler]
  end
end

# C30: ever new methods.
class TestTemplates < E2E
  def test_thousands_of_methods_are_all_named
    program = Program.new("templates.rb", 3)
    profiler = Profiler.start("-p", program.pid, "-F", 997, "--stats=json")
    program.run
    peak = File.read("/proc/#{profiler.pid}/status")[/VmHWM:\s+(\d+)/, 1].to_i
    profiler.stop
    program.finish
    samples = profiler.profile.of(program.pid)
    named = samples.select { |s| s.names.grep(/\AObject#_app_views_\d+_html_erb__\h{32}\z/).any? }
    assert_operator named.size, :>, 1_000, "of #{ticks(samples)} ticks"
    assert_named samples
    wrong = samples.flat_map(&:stack).uniq.select { |f| f.name.include?("_app_views_") && f.file != "#{f.name.delete_prefix("Object#")}.erb" }
    assert_empty wrong
    assert_operator peak, :<=, 128 * 1024, "memory of the profiler, kB"
    assert_closes profiler, program.pid
  end
end
