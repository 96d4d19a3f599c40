# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# Processes in namespaces and roots of their own, told about by no container runtime.
class TestContainers < E2E
  VERSIONS = %w[2.7 3.3 3.4].freeze
  ID = Random.new(Process.pid).bytes(32).unpack1("H*")
  SERVICE = "rbprof-e2e-#{Process.pid}"

  # kind => [version, options of tests/rubies, cgroup]
  KINDS = {
    "container" => ["3.3", %w[--container], "docker-#{ID}.scope"],
    "overlay one" => ["3.3", %w[--container --overlay]], "overlay two" => ["3.3", %w[--container --overlay]],
    "old container" => ["2.7", %w[--container]], "user namespace" => ["3.4", %w[--container --userns]],
    "chroot" => ["3.4", []]
  }.freeze

  HZ = 499

  once(:seen) do
    with_cgroups do |cgroups|
      programs = KINDS.to_h { |kind, how| [kind, start(cgroups, *how)] }.compact
      programs["service"] = start_service(cgroups)
      pids = programs.to_h { |kind, program| [kind, host_pid(kind, program)] }
      ps = JSON.parse(Profiler.run("ps", "--json").out)["processes"]
      profiler = Profiler.start("-a", "-F", HZ, "--stats=json")
      targets = start_targets(cgroups)
      before = pids.transform_values { |pid| Clock.cpu_at_rest(pid) }
      programs.each_value(&:go)
      programs.each_value { |program| program.expect("done") }
      state = JSON.parse(Profiler.run("state", profiler.pid, "--json").out)["recordings"][0]
      devices = ["overlay one", "overlay two"].filter_map { |kind| pids[kind] && device_of_libruby(pids[kind]) }
      used = pids.to_h { |kind, pid| [kind, Clock.cpu_at_rest(pid) - before[kind]] }
      [profiler, *targets.values].each(&:stop)
      truth = programs.transform_values(&:truth)
      statuses = programs.transform_values(&:finish)
      [profiler, *targets.values].each { |p| assert_code 0, p }
      { profiler: profiler, targets: targets, programs: programs, pids: pids, ps: ps, state: state, truth: truth,
        used: used, statuses: statuses, devices: devices }
    end
  end

  def start(cgroups, version, options, cgroup = nil)
    return unless Rubies.path(version)

    options += ["--cgroup", cgroups[cgroup]] if cgroup && cgroups
    Program.new("in_container.rb", ruby: Rubies.command(version, *options))
  end

  def start_service(cgroups)
    Program.new("in_container.rb").tap do |program|
      File.write(File.join(cgroups["#{SERVICE}.service"], "cgroup.procs"), program.pid) if cgroups
    end
  end

  # In a container it is the child of what set the container up.
  def host_pid(kind, program)
    KINDS.dig(kind, 1)&.include?("--container") ? Rubies.child(program.pid) : program.pid
  end

  def start_targets(cgroups)
    return {} unless cgroups

    { "prefix" => ["--container", ID[0, 12]], "id" => ["--container", ID],
      "cgroup" => ["--cgroup", "/#{SERVICE}.service"], "path" => ["--cgroup", cgroups["#{SERVICE}.service"]] }
      .transform_values { |target| Profiler.start(*target, "-F", 99) }
  end

  # Named as container runtimes and systemd name them; nil if none can be made here.
  def with_cgroups
    mount = File.readlines("/proc/mounts").map(&:split).find { |m| m[2] == "cgroup2" }
    names = ["docker-#{ID}.scope", "#{SERVICE}.service"]
    made = names.to_h { |name| [name, File.join(mount[1], name)] } if mount
    begin
      made&.each_value { |path| Dir.mkdir(path) }
    rescue SystemCallError
      made = nil
    end
    yield made
  ensure
    Children.end_all
    made&.each_value { |path| Clock.wait_until(30, "an empty cgroup") { Dir.rmdir(path) || true rescue false } }
  end

  def device_of_libruby(pid) = File.readlines("/proc/#{pid}/maps").grep(/libruby/)[0].split[3]

  def pid(kind)
    skip "ruby #{KINDS[kind][0]} is not there: tests/rubies #{KINDS[kind][0]}" unless seen[:pids][kind]
    seen[:pids][kind]
  end

  def samples(kind) = seen[:profiler].profile.of(pid(kind))
  def ps(kind) = seen[:ps].find { |row| row["pid"] == pid(kind) } || flunk("#{kind} is not in ps")
  def needs_cgroups = (skip "no cgroup of version 2 can be made" if seen[:targets].empty?)

  (KINDS.keys + ["service"]).each do |kind|
    name = kind.tr(" ", "_")

    define_method("test_#{name}_is_profiled") do
      mine = samples(kind)
      truth = seen[:truth][kind]
      assert_work truth["work_ns"], mine, "Object#contained_work", HZ
      assert_work truth["inside_ns"], mine, "Object#inside_work", HZ
      assert_equal [["inside"]], mine.select { |s| s.frame?("Object#inside_work") }.map { |s| [s.thread] }.uniq
      assert_cpu seen[:used][kind], mine.sum(&:cpu), kind
      assert_equal [truth["version"]], mine.map { |s| s.labels["ruby"] }.uniq
      assert_equal [File.join(PROGRAMS, "in_container.rb")],
                   mine.flat_map(&:stack).select { |f| f.name == "Object#contained_work" }.map(&:file).uniq
    end

    define_method("test_#{name}_has_the_pid_of_the_host") do
      mine = samples(kind)
      truth = seen[:truth][kind]
      isolated = KINDS.dig(kind, 1)&.include?("--container")
      assert_equal isolated ? 1 : pid(kind), truth["pid"], "as it sees itself"
      assert(mine.all? { |s| s.labels["process"].end_with?(" (#{pid(kind)})") })
      main = mine.select { |s| s.thread == "main" }.map(&:tid).uniq
      assert_equal [pid(kind)], main, "thread id of the main thread"
    end

    define_method("test_#{name}_is_in_ps") do
      row = ps(kind)
      assert_equal [true, "proved", seen[:truth][kind]["version"]], row.values_at("ok", "proof", "ruby"), row.inspect
      assert_match(/libruby|ruby/, row["path"])
    end
  end

  def test_a_container_has_its_id
    needs_cgroups
    assert_equal [[ID, nil]], samples("container").map { |s| s.labels.values_at("container_id", "service") }.uniq
    assert_equal ID, ps("container")["container_id"]
    refute ps("container").key?("service")
  end

  def test_a_service_has_its_name
    needs_cgroups
    labels = samples("service").map { |s| s.labels.values_at("container_id", "service") }.uniq
    assert_equal [[nil, SERVICE]], labels
    assert_equal SERVICE, ps("service")["service"]
  end

  { "prefix" => "container", "id" => "container", "cgroup" => "service", "path" => "service" }.each do |target, kind|
    define_method("test_target_by_#{target}") do
      needs_cgroups
      samples = seen[:targets][target].profile.samples
      assert_equal [pid(kind)], samples.map(&:pid).uniq
      assert samples.any? { |s| s.frame?("Object#contained_work") }
    end
  end

  # Two mounts of one lower folder show one file under two devices.
  def test_one_library_under_two_mounts_is_one_runtime
    rows = ["container", "overlay one", "overlay two"].map { |kind| ps(kind) }
    assert_equal 1, rows.map { |row| row["build_id"] }.uniq.size, rows.inspect
    version = rows[0]["ruby"]
    comments = seen[:profiler].profile.comments.grep(/\Aruby: #{Regexp.escape(version)} /)
    assert_equal 1, comments.size, comments.inspect
    assert_includes comments[0], rows[0]["build_id"]
    assert_equal 1, seen[:state]["runtimes"].count { |r| r["version"] == version }, seen[:state]["runtimes"].inspect
    assert_equal 2, seen[:devices].uniq.size, seen[:devices].inspect
  end

  def test_every_sample_is_counted_once
    seen[:pids].each_value { |pid| assert_closes seen[:profiler], pid }
  end

  def test_every_program_ended_well
    assert_equal [true], seen[:statuses].values.map(&:success?).uniq, seen[:statuses].inspect
  end
end

# C79: files that only the target sees.
class TestOwnMounts < E2E
  def test_a_ruby_in_a_tmpfs_that_only_it_sees
    skip "no unshare" unless command?("unshare")
    place = folder("private")
    library = File.readlines("/proc/self/maps", chomp: true).filter_map { |l| l[%r{/\S*libruby\S*\z}] }.first or
      skip "this ruby is static"
    script = 'mount -t tmpfs private "$0" && cp "$1" "$0/ruby" && cp "$2" "$0/$3" && cp "$4"/*.rb "$0" && ' \
             'LD_LIBRARY_PATH="$0" exec "$0/ruby" "$0/in_container.rb"'
    truth = Program.truth_path
    input, writer = IO.pipe
    reader, output = IO.pipe
    pid = Children.spawn({ "TRUTH" => truth }, "unshare", "--mount", "--propagation", "private", "sh", "-c", script,
                         place, RUBY, library, RbConfig::CONFIG["LIBRUBY_SONAME"], PROGRAMS, in: input, out: output)
    [input, output].each(&:close)
    assert_equal "ready\n", reader.gets
    assert_empty Dir.children(place), "the host sees nothing of it"
    profiler = Profiler.start("-p", pid, "-F", 499, "--stats=json")
    before = Clock.cpu_at_rest(pid)
    writer.puts("go")
    assert_equal "done\n", reader.gets
    used = Clock.cpu_at_rest(pid) - before
    profiler.stop
    writer.close
    assert_code 0, profiler
    mine = profiler.profile.of(pid)
    assert_work JSON.parse(File.read(truth))["work_ns"], mine, "Object#contained_work", 499
    assert_cpu used, mine.sum(&:cpu), "process"
    assert_includes mine.flat_map(&:stack).map(&:file), File.join(place, "in_container.rb")
  end
end
