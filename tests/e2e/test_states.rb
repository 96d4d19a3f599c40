# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

module StatesHelp
  VERSIONS = %w[2.7 3.1 3.3 3.4].freeze
  WAITS = ["sleeping", "waiting for gvl", "waiting for cpu", "throttled", "blocked", "waiting", "network", "unknown"].freeze

  def self.with_versions = VERSIONS.each { |version| yield version, version.tr(".", "_") }

  def command(version)
    skip "ruby #{version} is not there: tests/rubies #{version}" unless Rubies.path(version)
    Rubies.command(version)
  end

  # What the program says of itself, and its samples.
  def record_one(version, hz, name, seconds)
    program = Program.new(name, seconds, ruby: command(version))
    profiler = Profiler.start("-p", program.pid, "-F", hz, "--stats=json")
    program.run
    profiler.stop
    program.finish
    assert_code 0, profiler
    { truth: program.truth, samples: profiler.profile.of(program.pid) }
  end

  # Those that are there, each with a block's program.
  def programs
    VERSIONS.select { |version| Rubies.path(version) }.to_h { |version| [version, yield(version)] }
  end

  def of_thread(samples, tid) = samples.select { |s| s.tid == tid && !s.gc? && !s.overhead? }

  # At least so much of the time that these samples hold is in that state.
  def assert_state(state, samples, share, what)
    times = by_state(samples)
    found = (times[state] || 0).fdiv(times.values.sum)
    puts format("%s: %s %.2f %%", what, state, found * 100) if ENV["VERBOSE"]
    assert_operator found, :>=, share, "#{what} is #{state}: #{times.transform_values { |ns| ms(ns) }}"
  end
end

# A thread for each way to wait, on every Ruby, for as long as the recording.
class TestStates < E2E
  include StatesHelp

  # Name servers that never answer, each version's own.
  ADDRESSES = VERSIONS.each_with_index.to_h { |version, i| [version, "127.77.77.#{i + 1}"] }.freeze
  NAMES = ["sleep", "sleep forever", "mutex owner", "monitor owner", "mutex", "monitor", "join", "timed join", "queue",
           "sized queue", "condition variable", "timed condition variable", "monitor condition", "select",
           "timed select", "pipe", "flock", "child", "accept", "tcp", "unix", "udp", "dns", "main"].freeze

  once(:seen) do
    all = programs { |version| start(version) }
    skip "no other rubies: tests/rubies" if all.empty?
    profiler = Profiler.start("-p", all.values.map(&:pid).join(","), "-F", 99, "--stats=json")
    sleep 2
    profiler.stop
    assert_code 0, profiler
    truths = all.transform_values { |program| program.run.truth }
    all.each_value(&:finish)
    { profiler: profiler, truths: truths, samples: all.transform_values { |p| profiler.profile.of(p.pid) } }
  end

  # With a resolv.conf of its own, which goes with the overlay.
  def start(version)
    resolver = "nameserver #{ADDRESSES[version]}\noptions timeout:30 attempts:1"
    skip "ruby #{version} is not there" unless Rubies.path(version)
    *run, ruby = Rubies.command(version, "--overlay")
    Program.new("states.rb", ADDRESSES[version],
                ruby: [*run, "sh", "-c", 'echo "$0" >/etc/resolv.conf && exec "$@"', resolver, ruby])
  end

  def truth(version) = seen[:truths][version] || skip("ruby #{version} is not there: tests/rubies #{version}")

  StatesHelp.with_versions do |version, suffix|
    NAMES.each do |name|
      define_method("test_#{name.tr(" ", "_")}_on_#{suffix}") do
        thread = truth(version).fetch(name)
        mine = of_thread(seen[:samples][version], thread["tid"])
        refute_empty mine, "thread #{name} is not in the profile"
        recorded = seen[:profiler].stats["elapsed_ns"]
        assert_in_delta recorded, wall(mine), [recorded * 0.001, 10_000_000].max, name
        assert_state thread["state"], mine, 0.98, "#{name} on #{version}"
        assert_equal [name], mine.reject(&:gc?).map(&:thread).uniq
      end
    end

    define_method("test_only_known_states_on_#{suffix}") do
      truth(version)
      states = seen[:samples][version].map(&:state).uniq.compact
      refute_empty states
      assert_empty states - WAITS - ["had cpu"]
      # Nobody wants the GVL.
      holders = seen[:samples][version].select { |s| s.labels["gvl holder"] && s.state != "waiting for gvl" }
      assert_empty holders
    end
  end
end

# The same in short waits, one after the other.
class TestShortStates < E2E
  include StatesHelp

  # One Ruby at a time: they would be in each other's way.
  once(:seen) { |version| record_one(version, 199, "short_states.rb", 2) }

  StatesHelp.with_versions do |version, suffix|
    ["sleep", "condition variable", "select", "pipe", "socket", "join", "child"].each do |name|
      define_method("test_#{name.tr(" ", "_")}_on_#{suffix}") do
        thread = seen(version)[:truth].fetch(name)
        mine = of_thread(seen(version)[:samples], thread["tid"]).select { |s| s.frame?("Object#in_state") }
        # About 400 ticks. To come back from a wait takes the GVL and a CPU, which others have at times.
        assert_in_epsilon thread["waited_ns"], wall(mine), 0.06, name
        states = by_state(mine.select(&:wait?))
        way_back = states.values_at("waiting for gvl", "waiting for cpu").sum(&:to_i)
        assert_operator (states[thread["state"]].to_i + way_back).fdiv(states.values.sum), :>=, 0.97, states.inspect
        assert_operator states[thread["state"]].to_i.fdiv(states.values.sum), :>=, 0.75, states.inspect
      end
    end
  end
end

# One that computes and five that want to; one that sleeps with the GVL and one that wants it.
class TestWaitingForTheGvl < E2E
  include StatesHelp

  once(:seen) { |version, name, seconds| record_one(version, 499, name, seconds) }

  def held_by(samples, name)
    waits = samples.select { |s| s.state == "waiting for gvl" }
    wall(waits.select { |s| s.labels["gvl holder"] == name }).fdiv([wall(waits), 1].max)
  end

  StatesHelp.with_versions do |version, suffix|
    define_method("test_five_wait_for_the_gvl_on_#{suffix}") do
      run = seen(version, "gvl.rb", 1.5)
      run[:truth]["victims"].each do |victim|
        mine = of_thread(run[:samples], victim["tid"]).select { |s| s.frame?("Object#victim_work") }
        # Some slices of the VM's (100 ms) may pass in the methods that read clocks before and after.
        assert_includes (victim["wall_ns"] * 0.6)..(victim["wall_ns"] * 1.05), wall(mine)
        assert_state "waiting for gvl", mine, 0.98 - victim["spent_ns"].fdiv(victim["wall_ns"]), "victim on #{version}"
      end
    end

    define_method("test_the_holder_has_a_name_on_#{suffix}") do
      run = seen(version, "gvl.rb", 1.5)
      victims = run[:samples].select { |s| s.frame?("Object#victim_work") }
      assert_operator held_by(victims, "hog"), :>=, 0.9, victims.map { |s| s.labels["gvl holder"] }.tally.inspect
    end

    define_method("test_who_computes_does_not_wait_for_it_on_#{suffix}") do
      run = seen(version, "gvl.rb", 1.5)
      hog = run[:truth]["hog"]
      mine = of_thread(run[:samples], hog["tid"]).select { |s| s.frame?("Object#hog_work") }
      # Its clocks hold CPU and waiting for one.
      other = 1 - hog["spent_ns"].fdiv(hog["wall_ns"])
      states = by_state(mine)
      assert_operator states.values_at("had cpu", "waiting for cpu").compact.sum.fdiv([states.values.sum, 1].max), :>=,
                      0.97 - other, states.inspect
    end

    define_method("test_a_sleep_with_the_gvl_sleeps_on_#{suffix}") do
      run = seen(version, "gvl_sleep.rb", 1.5)
      holder = run[:truth]["holder"]
      mine = of_thread(run[:samples], holder["tid"]).select { |s| s.frame?("Object#held_sleep") && s.wait? }
      # The VM gives the GVL away in the same method, between two system calls.
      assert_in_epsilon holder["methods"]["held_sleep"]["off_ns"], wall(mine), 0.05
      # After the sleep it can wait for a CPU and still be in the call.
      sleeping, runnable, gvl = by_state(mine).values_at("sleeping", "waiting for cpu", "waiting for gvl").map(&:to_i)
      assert_operator sleeping, :<=, run[:truth]["asleep_ns"] * 1.05, by_state(mine).inspect
      assert_operator sleeping + runnable + gvl, :>=, run[:truth]["asleep_ns"] * 0.95, by_state(mine).inspect
      assert_operator sleeping, :>=, [runnable * 4, gvl].max, by_state(mine).inspect
    end

    define_method("test_who_wants_it_meanwhile_on_#{suffix}") do
      run = seen(version, "gvl_sleep.rb", 1.5)
      worker = run[:truth]["worker"]
      mine = of_thread(run[:samples], worker["tid"]).select(&:wait?)
      waits = mine.select { |s| s.state == "waiting for gvl" }
      assert_operator wall(waits), :>, 300_000_000, by_state(mine).inspect
      assert_operator held_by(waits, "holder"), :>=, 0.9, waits.map { |s| s.labels["gvl holder"] }.tally.inspect
    end
  end
end

# Ready to run and not running.
class TestWaitingForCpu < E2E
  include StatesHelp

  SECONDS = 2

  def record(program)
    profiler = Profiler.start("-p", program.pid, "-F", 499, "--stats=json")
    yield if block_given?
    program.run
    profiler.stop
    truth = program.truth
    program.finish
    assert_code 0, profiler
    [truth, of_thread(profiler.profile.of(program.pid), truth["tid"]).select { |s| s.frame?("Object#spins_here") }]
  end

  def test_another_process_has_the_cpu
    skip "taskset is not installed" unless command?("taskset")
    rival = Children.spawn("taskset", "-c", "0", "sh", "-c", "while :; do :; done")
    truth, mine = record(Program.new("spin_wall.rb", SECONDS, ruby: ["taskset", "-c", "0", RUBY]))
    Children.kill(rival)
    assert_operator truth["off_ns"], :>, 500_000_000, "it had a rival"
    assert_work truth["cpu_ns"], mine, "Object#spins_here", 499
    waits = mine.select(&:wait?)
    assert_in_epsilon truth["off_ns"], wall(waits), 0.02
    assert_state "waiting for cpu", waits, 0.98, "a process with a rival"
  end

  # A group of its own with a fifth of a CPU, of the version that has the controller.
  def limited_group
    one = "/sys/fs/cgroup/cpu/cpu.cfs_quota_us"
    two = %w[/sys/fs/cgroup /sys/fs/cgroup/unified].find do |root|
      File.exist?("#{root}/cgroup.controllers") && File.read("#{root}/cgroup.controllers").split.include?("cpu")
    end
    parent = two || (Dir.exist?("/sys/fs/cgroup/cpu") ? File.dirname(one) : skip("no cgroup with a cpu controller"))
    group = File.join(parent, "rbprof-e2e-#{Process.pid}")
    begin
      Dir.mkdir(group)
      limit(group, two)
    rescue SystemCallError => e
      skip "no cgroup can be limited here: #{e.message}"
    end
    yield group
  ensure
    leave(group) if group && Dir.exist?(group)
  end

  def limit(group, version_two)
    if version_two
      File.write(File.join(File.dirname(group), "cgroup.subtree_control"), "+cpu")
      File.write("#{group}/cpu.max", "20000 100000")
    else
      File.write("#{group}/cpu.cfs_period_us", "100000")
      File.write("#{group}/cpu.cfs_quota_us", "20000")
    end
  end

  # Its processes are ours.
  def leave(group)
    Children.end_all
    Clock.wait_until(10, "#{group} to be empty") { File.read("#{group}/cgroup.procs").empty? }
    Dir.rmdir(group)
  end

  def throttled_ns(group)
    figures = File.readlines("#{group}/cpu.stat").to_h(&:split)
    figures.key?("throttled_time") ? figures["throttled_time"].to_i : figures["throttled_usec"].to_i * 1000
  end

  def test_its_group_has_used_up_its_share
    limited_group do |group|
      program = Program.new("spin_wall.rb", SECONDS)
      throttled = nil
      truth, mine = record(program) do
        File.write("#{group}/cgroup.procs", program.pid.to_s)
        throttled = throttled_ns(group)
      end
      throttled = throttled_ns(group) - throttled
      assert_operator throttled, :>, SECONDS * 250_000_000, "the kernel limits it"
      assert_work truth["cpu_ns"], mine, "Object#spins_here", 499
      waits = mine.select(&:wait?)
      assert_in_epsilon truth["off_ns"], wall(waits), 0.02
      # What is left is waiting for a CPU that others have.
      assert_state "throttled", waits, [0.98, throttled.fdiv(truth["off_ns"]) - 0.02].min, "a process with a limit"
    end
  end
end
