# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# `thread id`, `gc thread` and names of threads on every Ruby there is: what they say, and that
# nothing was given an id by being looked at.
class TestThreadIds < E2E
  KINDS = ["own", "2.7", "3.1", "3.3", "3.4"].freeze

  once(:seen) do
    programs = KINDS.to_h { |kind| [kind, start(kind)] }.compact
    profiler = Profiler.start("-p", programs.values.map(&:pid).join(","), "-F", 499, "--stats=json")
    programs.each_value(&:go)
    dumps = programs.transform_values do |program|
      program.expect("settled")
      dump = JSON.parse(Profiler.run("dump", "-p", program.pid, "--json").out)["processes"][0]
      program.go
      program.expect("done")
      dump
    end
    profiler.stop
    statuses = programs.values.map(&:finish)
    assert_code 0, profiler
    { profiler: profiler, programs: programs, dumps: dumps, statuses: statuses,
      truths: programs.transform_values(&:truth) }
  end

  def start(kind)
    return Program.new("thread_ids.rb") if kind == "own"

    Program.new("thread_ids.rb", ruby: Rubies.command(kind)) if Rubies.path(kind)
  end

  def truth(kind) = seen[:truths][kind] || skip("ruby #{kind} is not there: tests/rubies #{kind}")
  def samples(kind) = seen[:profiler].profile.of(seen[:programs][kind].pid)
  def thread(kind, key) = truth(kind)["threads"].fetch(key)

  # Those of a thread that lives as long as the program.
  def of(kind, key)
    tid = thread(kind, key)["tid"]
    samples(kind).select { |s| s.tid == tid && !s.gc? }.tap { |list| refute_empty list, key }
  end

  KINDS.each do |kind|
    name = kind.tr(".", "_")

    define_method("test_#{name}_an_id_is_on_all_samples_of_the_thread") do
      %w[early late never].each do |key|
        expected = "#{thread(kind, key)["tid"]} (#{thread(kind, key)["id"]})"
        assert_equal [expected], of(kind, key).map { |s| s.labels["thread id"] }.uniq, key
      end
      assert_operator thread(kind, "late")["id"], :>, 0
      assert_equal(-1, thread(kind, "never")["id"])
    end

    define_method("test_#{name}_a_thread_that_sleeps_has_one") do
      expected = "#{thread(kind, "asleep")["tid"]} (#{thread(kind, "asleep")["id"]})"
      assert_equal [expected], of(kind, "asleep").map { |s| s.labels["thread id"] }.uniq
    end

    define_method("test_#{name}_the_main_thread_was_asked_for_none") do
      pid = (truth(kind) && seen[:programs][kind].pid)
      labels = samples(kind).select { |s| s.tid == pid && !s.gc? }.map { |s| s.labels["thread id"] }.uniq
      assert_equal ["#{pid} (-1)"], labels
    end

    define_method("test_#{name}_no_thread_has_the_id_of_another") do
      found = 0
      truth(kind)["turns"].each_with_index do |turn, number|
        mine = samples(kind).select { |s| s.frame?("Object#turn_#{number}") && !s.gc? }
        labels = mine.map { |s| s.labels["thread id"] }.uniq
        # One whose Thread is kept can be read as long as anybody may want to.
        allowed = ["#{turn["tid"]} (#{turn["id"]})"]
        allowed << "#{turn["tid"]} (-1)" unless number % 4 < 2
        assert_empty labels - allowed, "turn #{number}: #{turn}"
        found += mine.size
      end
      assert_operator found, :>, 30
    end

    define_method("test_#{name}_collections_name_the_thread_as_its_samples_do") do
      ids = samples(kind).reject { |s| s.gc? || s.overhead? }.map { |s| s.labels["thread id"] }.uniq
      collections = samples(kind).select(&:gc?).select { |s| s.labels["gc thread"] }
      refute_empty collections if truth(kind)
      assert_empty collections.map { |s| s.labels["gc thread"] }.uniq - ids
      late = collections.select { |s| s.frame?("Object#in_late") }.map { |s| s.labels["gc thread"] }.uniq
      assert_equal ["#{thread(kind, "late")["tid"]} (#{thread(kind, "late")["id"]})"], late
    end

    define_method("test_#{name}_looking_gave_no_object_an_id") do
      steps = truth(kind)["steps"]
      assert_equal [steps.first], steps.uniq
    end

    define_method("test_#{name}_names_of_all_kinds") do
      assert_equal ["caf\ufffd"], of(kind, "invalid").map(&:thread).uniq
      assert_equal [""], of(kind, "empty").map(&:thread).uniq
      endless, *others = of(kind, "endless").map(&:thread).uniq
      assert_empty others
      assert_match(/\A\u00e9+\u2026\z/, endless)
      assert_includes 253..255, endless.bytesize
      assert_equal %w[early renamed], of(kind, "early").map(&:thread).uniq.sort
    end

    define_method("test_#{name}_labels_follow_the_fiber") do
      expected = "#{thread(kind, "early")["tid"]} (#{thread(kind, "early")["id"]})"
      inside = samples(kind).select { |s| s.frame?("Object#in_fiber") && !s.gc? }
      refute_empty inside
      assert_equal [expected], inside.map { |s| s.labels["thread id"] }.uniq
      assert_empty inside.map(&:thread).uniq - %w[early renamed]
    end

    define_method("test_#{name}_a_dump_has_the_same") do
      %w[early late never asleep].each do |key|
        expected = thread(kind, key)
        row = seen[:dumps][kind]["threads"].find { |t| t["tid"] == expected["tid"] }
        assert_equal expected["id"], row["object_id"], key
        assert_equal "#{row["tid"]} (#{row["object_id"]})", row["labels"]["thread id"]
      end
    end
  end

  # What was put aside before its id came has it when it is written.
  def test_a_late_id_is_on_samples_of_the_ring
    program = Program.new("thread_ids.rb")
    profiler = Profiler.start("-p", program.pid, "--ring", "20")
    program.go
    program.expect("settled")
    program.go
    program.expect("done")
    profiler.stop
    program.finish
    assert_code 0, profiler
    samples = profiler.profile.of(program.pid)
    %w[early late never asleep].each do |key|
      thread = program.truth["threads"].fetch(key)
      mine = samples.select { |s| s.tid == thread["tid"] && !s.gc? }
      assert_equal ["#{thread["tid"]} (#{thread["id"]})"], mine.map { |s| s.labels["thread id"] }.uniq, key
    end
    assert_empty samples.filter_map { |s| s.labels["gc thread"] }.grep_v(/\A\d+ \((-1|\d+)\)\z/)
  end

  def test_all_ended_well
    assert seen[:statuses].all?(&:success?), seen[:statuses].inspect
  end
end
