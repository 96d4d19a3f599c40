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
    # By which class it was inherited or included is not in the stack; and what is in no framework.
    "inherited" => nil, "mixed" => nil, "job_inherited" => nil, "outside" => nil
  }.freeze

  once(:seen) do
    program = Program.new("endpoints.rb", 6, env: gem_env)
    profilers = [[], ["--no-frame-endpoint"]].map do |options|
      Profiler.start("-p", program.pid, "-F", 499, *options)
    end
    program.go
    dumps = Array.new(20) { JSON.parse(Profiler.run("dump", "-p", program.pid, "--json").out)["processes"][0] }
    program.expect("done")
    profilers.each(&:stop)
    program.finish
    profilers.each { |profiler| assert_code 0, profiler }
    { samples: profilers[0].profile.of(program.pid), without: profilers[1].profile.of(program.pid), dumps: dumps }
  end

  def gem_env
    gems = Gems.path || skip("the gems are not there: tests/frameworks")
    { "GEM_HOME" => gems, "GEM_PATH" => gems }
  end

  def of(work) = seen[:samples].select { |s| s.frame?("Object#work_#{work}") }

  ENDPOINTS.each do |work, endpoint|
    define_method("test_#{work}") do
      assert_equal [endpoint], of(work).map { |s| s.labels["trace endpoint"] }.uniq
      assert_equal [endpoint && "frames"], of(work).map { |s| s.labels["endpoint source"] }.uniq
    end

    define_method("test_#{work}_also_while_it_waits") do
      assert_includes of(work).map(&:state), "had cpu"
      assert_includes of(work).map(&:state), "sleeping"
    end
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

# Whether the class in a frame's name is the receiver's own, on every Ruby.
class TestReceivers < E2E
  KINDS = ["own", "2.7", "3.1", "3.3", "3.4"].freeze

  once(:seen) do
    programs = KINDS.to_h { |kind| [kind, start(kind)] }.compact
    profiler = Profiler.start("-p", programs.values.map(&:pid).join(","), "-F", 499)
    programs.each_value(&:go)
    before = programs.transform_values do |program|
      program.expect("settled")
      JSON.parse(Profiler.run("dump", "-p", program.pid, "--json").out)["processes"][0]
    end
    programs.each_value { |program| program.go && program.expect("done") }
    after = programs.transform_values { |p| JSON.parse(Profiler.run("dump", "-p", p.pid, "--json").out)["processes"][0] }
    profiler.stop
    truths = programs.transform_values(&:truth)
    programs.each_value(&:finish)
    assert_code 0, profiler
    { profile: profiler.profile, programs: programs, before: before, after: after, truths: truths }
  end

  def start(kind)
    return Program.new("subclasses.rb") if kind == "own"

    Program.new("subclasses.rb", ruby: Rubies.command(kind)) if Rubies.path(kind)
  end

  def of(kind)
    program = seen[:programs][kind] || skip("ruby #{kind} is not there: tests/rubies #{kind}")
    seen[:profile].of(program.pid)
  end

  def dumped(kind, which, name)
    thread = seen[which][kind]["threads"].find { |t| t["name"] == name }
    thread["labels"]["trace endpoint"]
  end

  KINDS.each do |kind|
    name = kind.tr(".", "_")

    define_method("test_#{name}_only_what_is_certain") do
      samples = of(kind)
      seen[:truths][kind].except("threads").each do |action, endpoint|
        mine = samples.select { |s| s.thread == action && !s.gc? && s.frame?("AbstractController::Base#process_action") }
        told = mine.select { |s| s.frame?(/#(burn|sleep)\z/) }.map { |s| s.labels["trace endpoint"] }.uniq
        assert_equal [endpoint], told, action
      end
    end

    define_method("test_#{name}_not_once_the_class_has_a_subclass") do
      of(kind)
      assert_equal "LaterParent#later_action", dumped(kind, :before, "later_action")
      assert_nil dumped(kind, :after, "later_action")
      told = of(kind).select { |s| s.thread == "later_action" }.map { |s| s.labels["trace endpoint"] }.uniq
      assert_includes told, "LaterParent#later_action"
      assert_includes told, nil
    end
  end
end
