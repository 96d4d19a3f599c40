# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# Endpoints told by the frames of real frameworks: `trace endpoint`, `endpoint source`.
class TestFrameEndpoints < E2E
  ENDPOINTS = {
    "show" => "UsersController#show", "update" => "UsersController#update", "bare" => "ApiController#show",
    "prepended" => "UsersController#prepended", "overridden" => "UsersController#overridden",
    "nested" => "UsersController#nested", "job" => "HardJob", "job_now" => "NowJob",
    "job_wrapped" => "WrappedJob", "processor" => "Deep::ProcessorJob", "route" => "GET /users/:id",
    "form" => "POST /form", "pattern" => "GET (?-mix:\\/items\\/(\\d+))",
    # Of the object's class, where the method is another's; and what is in no framework.
    "inherited" => "UsersController#inherited", "mixed" => "UsersController#mixed",
    "job_inherited" => "ParentJob", "job_child" => "ChildJob", "outside" => nil
  }.freeze
  # Until it is known that the object's class matters there is no endpoint.
  LATE = %w[inherited mixed prepended job_inherited job_child].freeze

  once(:seen) do
    program = Program.new("endpoints.rb", 6, env: gem_env)
    profilers = [[], ["--no-frame-endpoint"]].map do |options|
      Profiler.start("-p", program.pid, "-F", 499, "--stats=json", *options)
    end
    program.go
    dumps = Array.new(20) { JSON.parse(Profiler.run("dump", "-p", program.pid, "--json").out)["processes"][0] }
    program.expect("done")
    profilers.each(&:stop)
    program.finish
    profilers.each { |profiler| assert_code 0, profiler }
    { samples: profilers[0].profile.of(program.pid), errors: profilers[0].stats["errors"], without: profilers[1].profile.of(program.pid), dumps: dumps }
  end

  def gem_env
    gems = Rubies.gems("frameworks") || skip("the gems are not there: tests/gems frameworks")
    { "GEM_HOME" => gems, "GEM_PATH" => gems }
  end

  def of(work) = seen[:samples].select { |s| s.frame?("Object#work_#{work}") }

  ENDPOINTS.each do |work, endpoint|
    define_method("test_#{work}") do
      samples = LATE.include?(work) ? of(work).select { |s| s.labels.key?("trace endpoint") } : of(work)
      assert_equal [endpoint], samples.map { |s| s.labels["trace endpoint"] }.uniq
      assert_equal [endpoint && "frames"], samples.map { |s| s.labels["endpoint source"] }.uniq
    end

    define_method("test_#{work}_also_while_it_waits") do
      assert_includes of(work).map(&:state), "had cpu"
      assert_includes of(work).map(&:state), "sleeping"
    end
  end

  def test_what_has_none_though_it_is_in_a_framework_is_counted
    bare = LATE.sum { |work| ticks(of(work).reject { |s| s.labels.key?("trace endpoint") }) }
    puts "without an endpoint: #{bare} of #{LATE.sum { |work| ticks(of(work)) }}, #{seen[:errors]}" if ENV["VERBOSE"]
    assert_operator bare, :<=, seen[:errors].fetch("receiver_unknown", 0)
  end

  def test_none_has_the_endpoint_of_other_work
    seen[:samples].each do |sample|
      work = sample.names.filter_map { |name| name[/\AObject#work_(.*)\z/, 1] }.first
      next unless work && sample.labels["trace endpoint"]

      assert_equal ENDPOINTS.fetch(work), sample.labels["trace endpoint"]
    end
  end

  def test_no_id_and_no_argument
    seen[:samples].each { |s| s.labels.slice("trace endpoint").each_value { |text| refute_match(/4711|secret/, text) } }
  end

  def test_a_collection_has_that_of_its_stack
    collections = seen[:samples].select { |s| s.gc? && s.frame?("UsersController#show") }
    assert_equal ["UsersController#show"], collections.map { |s| s.labels["trace endpoint"] }.uniq | ["UsersController#show"]
  end

  def test_without_them
    refute_empty seen[:without]
    assert_empty seen[:without].flat_map { |s| s.labels.keys } & ["trace endpoint", "endpoint source"]
  end

  def test_a_dump_has_them
    found = seen[:dumps].flat_map { |dump| dump["threads"] }.filter_map do |thread|
      work = thread["stack"].filter_map { |frame| frame["name"][/\AObject#work_(.*)\z/, 1] }.first
      [ENDPOINTS.fetch(work), thread["labels"]["trace endpoint"]] if work
    end
    refute_empty found
    found.each { |expected, told| expected ? assert_equal(expected, told) : assert_nil(told) }
  end
end

# The class is that of the object, on every Ruby, though a frame's name has the method's.
class TestReceivers < E2E
  KINDS = ["own", "2.7", "3.1", "3.3", "3.4"].freeze

  once(:seen) do
    programs = KINDS.to_h { |kind| [kind, start(kind)] }.compact
    profiler = Profiler.start("-p", programs.values.map(&:pid).join(","), "-F", 499, "--stats=json")
    programs.each_value(&:go)
    before = programs.transform_values do |program|
      program.expect("settled")
      JSON.parse(Profiler.run("dump", "-p", program.pid, "--json").out)["processes"][0]
    end
    programs.each_value(&:run)
    after = programs.transform_values { |p| JSON.parse(Profiler.run("dump", "-p", p.pid, "--json").out)["processes"][0] }
    profiler.stop
    truths = programs.transform_values(&:truth)
    programs.each_value(&:finish)
    assert_code 0, profiler
    { profile: profiler.profile, stats: profiler.stats, programs: programs, before: before, after: after, truths: truths }
  end

  def start(kind)
    return Program.new("subclasses.rb") if kind == "own"

    Program.new("subclasses.rb", ruby: Rubies.command(kind)) if Rubies.path(kind)
  end

  def of(kind)
    program = seen[:programs][kind] || skip("ruby #{kind} is not there: tests/rubies #{kind}")
    seen[:profile].of(program.pid)
  end

  LATE = %w[inherited_action included_action].freeze

  def errors(kind) = seen[:stats]["processes"].find { |p| p["pid"] == seen[:programs][kind].pid }["errors"]

  def dumped(kind, which, name)
    thread = seen[which][kind]["threads"].find { |t| t["name"] == name }
    thread["labels"]["trace endpoint"]
  end

  KINDS.each do |kind|
    name = kind.tr(".", "_")

    define_method("test_#{name}_the_class_of_the_object") do
      samples = of(kind)
      seen[:truths][kind].except("threads").each do |action, endpoint|
        mine = samples.select { |s| s.thread == action && !s.gc? && s.frame?("AbstractController::Base#process_action") }
        working = mine.select { |s| s.frame?(/#(burn|sleep)\z/) }
        told = working.map { |s| s.labels["trace endpoint"] }.uniq
        # Until it is known that the class matters.
        told.delete(nil) if LATE.include?(action)
        assert_equal [endpoint], told, action
        bare = ticks(working.reject { |s| s.labels.key?("trace endpoint") })
        assert_operator bare, :<=, Chance.most(0.05 * ticks(working)) + 60, "#{action}, of #{ticks(working)}: #{errors(kind)}"
      end
    end

    define_method("test_#{name}_the_same_once_the_class_has_a_subclass") do
      of(kind)
      assert_equal "LaterParent#later_action", dumped(kind, :before, "later_action")
      assert_equal "LaterParent#later_action", dumped(kind, :after, "later_action")
      told = of(kind).select { |s| s.thread == "later_action" }.map { |s| s.labels["trace endpoint"] }.uniq
      assert_equal ["LaterParent#later_action"], told - [nil]
    end

    define_method("test_#{name}_never_another_class") do
      marked = of(kind).filter_map do |sample|
        next if sample.gc? || sample.thread != "shared_action"

        owner = sample.names.filter_map { |frame| frame[/\A(\w+)#marker\z/, 1] }.first
        [owner, sample] if owner
      end
      told, bare = marked.partition { |_, sample| sample.labels.key?("trace endpoint") }
      wrong = told.reject { |owner, sample| sample.labels["trace endpoint"] == "#{owner}#shared_action" }
      assert_empty wrong.map { |owner, sample| [owner, sample.labels["trace endpoint"]] }.first(5)
      told_of = told.group_by { |owner, _| owner[/\A\D+/] }.transform_values { |list| list.sum { |_, s| ticks([s]) } }
      puts "shared #{kind}: #{told_of}, #{bare.sum { |_, s| ticks([s]) }} without, #{errors(kind)}" if ENV["VERBOSE"]
      assert_equal %w[One Passing Two], told_of.keys.sort
      assert_operator bare.sum { |_, s| ticks([s]) }, :<=, errors(kind).fetch("receiver_unknown", 0)
    end
  end
end
