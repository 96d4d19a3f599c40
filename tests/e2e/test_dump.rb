# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

module DumpHelp
  def dump(*args, **options) = Profiler.run("dump", *args, "--json", **options)

  def processes(profiler)
    assert_code 0, profiler
    JSON.parse(profiler.out).tap { |json| assert_equal 1, json["schema"] }["processes"]
  end

  def names_of(thread) = thread["stack"].map { |frame| frame["name"] }
end

# One thread for each way to wait.
class TestDumpWaits < E2E
  include DumpHelp

  once(:dumped) do
    program = Program.new("waits.rb")
    json = dump("-p", program.pid)
    text = Profiler.run("dump", "-p", program.pid)
    program.run
    { json: json, text: text, truth: program.truth, pid: program.pid, path: program.path,
      process: processes(json)[0] }
  end

  def thread(name) = dumped[:process]["threads"].find { |t| t["name"] == name } || flunk("no thread #{name}")

  {
    "mutex" => ["blocked", "mutex", "mutex owner"], "synchronize" => ["blocked", "mutex", "mutex owner"],
    "monitor" => ["blocked", "monitor", "monitor owner"], "join" => %w[blocked join sleeper],
    "value" => %w[blocked join sleeper], "timed join" => %w[blocked join sleeper],
    "own fiber" => ["blocked", "mutex", "own fiber"],
    "condition variable" => ["waiting", "condition variable", nil],
    "monitor condition" => ["waiting", "condition variable", nil],
    "queue" => ["waiting", "queue", nil], "sized queue" => ["waiting", "queue", nil],
    "queue room" => ["waiting", "queue room", nil], "sleeper" => ["sleeping", "sleep", nil],
    "mutex owner" => ["sleeping", "sleep", nil], "stop" => ["sleeping", "sleep", nil],
    "fiber" => ["sleeping", "sleep", nil], "pipe" => ["waiting", "fd", nil],
    "accept" => ["network", "fd", nil], "socket" => ["network", "fd", nil],
    "select" => ["waiting", "fds", nil], "file lock" => ["waiting", "file lock", nil],
    "child" => ["waiting", "child process", nil], "ractor" => ["waiting", "ractor", nil]
  }.each do |name, (state, kind, owner)|
    define_method("test_#{name.tr(" ", "_")}") do
      found = thread(name)
      assert_equal dumped[:truth].fetch(name), found["tid"]
      assert_equal state, found["state"]
      assert_equal kind, found["waits_for"]["kind"], found["waits_for"].inspect
      if owner
        assert_equal [owner, dumped[:truth].fetch(owner)], found["waits_for"].values_at("owner", "owner_tid")
      else
        assert_nil found["waits_for"]["owner"]
      end
      assert found["consistent"]
      assert_equal state, found["labels"]["state"]
    end
  end

  def test_files_are_named
    assert_match(/\Apipe:\[\d+\]\z/, thread("pipe")["waits_for"]["name"])
    assert_match(/\Asocket:\[\d+\]\z/, thread("accept")["waits_for"]["name"])
    assert_match(/\.lock\z/, thread("file lock")["waits_for"]["name"])
    assert_equal 2, thread("select")["waits_for"]["fds"].size
  end

  def test_every_circle_and_nothing_else_is_a_deadlock
    tids = dumped[:truth]
    circles = [%w[left right], ["joins first", "joins second"], ["own fiber"]].map { |c| c.map { |n| tids.fetch(n) }.sort }
    assert_equal circles.sort, dumped[:process]["deadlocks"].map(&:sort).sort
  end

  def test_a_ractor_and_a_fiber_show_their_own_stack
    ractor = dumped[:process]["threads"].find { |t| t["labels"]["ractor id"] }
    assert_equal "Ractor.receive", ractor["stack"][0]["name"]
    assert_equal "block (2 levels) in <main>", thread("fiber")["stack"].last["name"]
    assert_equal "Kernel#sleep", thread("fiber")["stack"][0]["name"]
  end

  def test_a_name_cannot_play_with_the_terminal
    out = dumped[:text].out.force_encoding("UTF-8")
    refute_match(/[\x00-\x09\x0b-\x1f\x7f]/, out)
    assert_includes out, "a\\x1b[31m\\nb"
  end

  def test_lines_are_those_of_the_wait
    lines = File.readlines(dumped[:path])
    %w[queue pipe accept].each do |name|
      frame = thread(name)["stack"].find { |f| f["file"] == dumped[:path] }
      assert_includes lines[frame["line"] - 1], "named(\"#{name}\")"
    end
  end
end

# Threads that run while they are read.
class TestDumpRunning < E2E
  include DumpHelp

  CHAINS = [%w[Integer#abs Object#inner_of_one Object#middle_of_one Object#one],
            %w[Integer#to_s Object#inner_of_two Object#middle_of_two Object#two]].freeze

  def test_a_running_stack_is_one_that_has_been
    program = Program.new("alternating.rb")
    seen = 40.times.flat_map { processes(dump("-p", program.pid))[0]["threads"] }
    mine = seen.select { |t| t["name"].start_with?("alternating") }
    # Where the collector never rests, a name may not be proved in time: it is then not shown.
    assert_operator mine.size, :>=, 76
    mine.select { |t| t["consistent"] }.each do |thread|
      *inner, base, first = names_of(thread)
      assert_equal ["Object#alternate", "block (2 levels) in <main>"], [base, first]
      assert CHAINS.any? { |chain| chain.last(inner.size) == inner }, inner.inspect
    end
    assert_operator mine.count { |t| t["consistent"] }, :>=, 60
    running, waiting = mine.partition { |t| t["state"] == "had cpu" }
    refute_empty running
    assert(running.all? { |t| t["waits_for"].nil? })
    gvl = waiting.select { |t| t["state"] == "waiting for gvl" }
    refute_empty gvl
    assert(gvl.all? { |t| t["waits_for"]["kind"] == "gvl" })
    holders = gvl.filter_map { |t| t["labels"]["gvl holder"] }
    refute_empty holders
    assert_empty holders.uniq - ["alternating 0", "alternating 1", "main"]
  ensure
    program&.finish
  end
end

class TestDumpTargets < E2E
  include DumpHelp

  def test_native_threads
    library = File.join(folder("native"), "native_threads.so")
    skip "no C compiler" unless system(ENV.fetch("CC", "gcc"), "-shared", "-fPIC", "-O1", "-pthread", "-o", library,
                                       File.join(PROGRAMS, "native_threads.c"))
    program = Program.new("native_threads.rb", library, 100)
    program.go
    found = Clock.wait_until(60, "a native thread") do
      processes(dump("-p", program.pid))[0]["threads"].find { |t| t["native"] && t["name"] == "native-burner" }
    end
    assert_equal ["(no ruby frames)"], names_of(found)
    Children.kill(program.pid)
  end

  def test_a_process_that_was_forked
    program = Program.new("idle.rb")
    parent = processes(dump("-p", program.pid))[0]
    assert_equal [program.pid], parent["threads"].map { |t| t["tid"] } & [program.pid]
    reader, writer = IO.pipe
    pid = Children.spawn(RUBY, "-e", "Thread.new { fork { $stdout.puts Process.pid; $stdout.flush; sleep }; sleep }; sleep",
                         out: writer)
    child = reader.gets.to_i
    threads = processes(dump("-p", child))[0]["threads"]
    assert_equal [[child, "main"]], threads.map { |t| t.values_at("tid", "name") }
    Children.kill(pid)
    program.finish
  end

  def test_a_namespace_of_its_own
    skip "no unshare" unless command?("unshare")
    reader, writer = IO.pipe
    pid = Children.spawn("unshare", "--pid", "--fork", "--mount-proc", RUBY, "-e",
                         "Thread.new { Thread.current.name = 'inside'; sleep }; sleep 0.1; puts $$; $stdout.flush; sleep",
                         out: writer, err: File::NULL)
    writer.close
    inside = reader.gets or skip "no pid namespace can be made here"
    assert_equal 1, inside.to_i
    child = File.read("/proc/#{pid}/task/#{pid}/children").to_i
    threads = processes(dump("-p", child))[0]["threads"]
    assert_equal %w[main inside], threads.map { |t| t["name"] }
    assert_equal Dir.children("/proc/#{child}/task").map(&:to_i).sort, threads.map { |t| t["tid"] }.sort
    Children.kill(pid)
  end

  def test_targets_and_exit_status
    program = Program.new("idle.rb")
    other = Children.spawn("sleep", "600")
    all = processes(dump).map { |p| p["pid"] }
    assert_includes all, program.pid
    refute_includes all, other
    assert_includes processes(dump("--comm", "rub*")).map { |p| p["pid"] }, program.pid
    none = dump("--comm", "no-such-name")
    assert_empty processes(none)
    mixed = dump("-p", "#{other},#{program.pid}")
    assert_equal [program.pid], processes(mixed).map { |p| p["pid"] }
    assert_match(/not a ruby process/, mixed.err)
    assert_error dump("-p", 4_194_303), 3, /no such process/
    assert_error dump("-p", other), 3, /not a ruby process/
    assert_equal "", dump("-p", other).out
    assert_error Profiler.run("dump", "-p", "x"), 2, /bad pid/
    assert_error Profiler.run("dump", program.pid), 2, /-p #{program.pid}/
    Children.kill(other)
    program.finish
  end

  def test_a_reader_that_goes_away
    program = Program.new("idle.rb")
    reader, writer = IO.pipe
    reader.close
    assert_error Profiler.run("dump", "-p", program.pid, out: writer), 5, /cannot write to stdout/
    writer.close
    program.finish
  end
end
