# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# What is missing is named, with what to do.
class TestPrivileges < E2E
  def record(prefix, env: {}, binary: BINARY)
    Profiler.record("-a", "-d", "0.5", prefix: prefix, env: env, binary: binary)
  end

  # Where anybody may execute it.
  def public_binary
    path = File.join(folder("bin"), "rbprof-bpf")
    FileUtils.cp(BINARY, path)
    File.chmod(0o755, path)
    path
  end

  def test_without_root
    skip "setpriv is not installed" unless command?("setpriv")
    place = folder("nobody").tap { |path| File.chmod(0o777, path) }
    prefix = %w[setpriv --reuid=65534 --regid=65534 --clear-groups]
    profiler = Profiler.run("record", "-a", "-d", "0.5", "-o", File.join(place, "x.pb.gz"), prefix: prefix,
                            binary: public_binary)
    assert_error profiler, 3, /sudo|root/, /CAP_BPF|CAP_PERFMON|privilege/
    refute_debris place
    refute_match(/libbpf:/, profiler.err)
  end

  %w[bpf perfmon sys_ptrace].each do |name|
    define_method("test_without_cap_#{name}") do
      # CAP_SYS_ADMIN stands for the first two.
      dropped = name == "sys_ptrace" ? [name] : [name, "sys_admin"]
      profiler = record(without_capabilities(*dropped))
      assert_error profiler, 3, /CAP_#{name.upcase}/
      others = %w[BPF PERFMON SYS_PTRACE] - [name.upcase]
      others.each { |other| refute_match(/CAP_#{other}\b/, profiler.err) }
      refute_match(/memlock/i, profiler.err)
    end
  end

  # The least that is needed is enough.
  def test_with_three_capabilities_only
    program = Program.new("busy.rb", 100)
    everything = File.read("/proc/sys/kernel/cap_last_cap").to_i
    kept = { 39 => "bpf", 38 => "perfmon", 19 => "sys_ptrace" }
    list = IO.popen(["capsh", "--decode=#{format("%x", (1 << (everything + 1)) - 1)}"], &:read)[/=(.*)/, 1].split(",")
    dropped = list.map { |n| n.delete_prefix("cap_") } - kept.values - %w[setpcap]
    profiler = Profiler.record("-p", program.pid, "-d", "1", prefix: without_capabilities(*dropped))
    program.finish
    assert_code 0, profiler
    assert profiler.profile.samples.any? { |s| s.frame?("Object#busy_work") }
  rescue Errno::ENOENT
    skip "capsh is not installed"
  end

  def test_a_small_memlock_limit_does_not_matter
    assert_code 0, record(%w[prlimit --memlock=65536:65536])
  end

  def test_without_cap_sys_resource
    assert_code 0, record(without_capabilities("sys_resource"))
  end

  def test_without_btf
    profiler = record([], env: { "RBPROF_BTF" => "/no/such/btf" })
    assert_error profiler, 3, %r{/no/such/btf}, /BTF/
    refute_match(/libbpf:/, profiler.err)
    doctor = Profiler.run("doctor", "--json", env: { "RBPROF_BTF" => "/no/such/btf" })
    check = JSON.parse(doctor.out)["checks"].find { |c| c["name"] =~ /BTF/i }
    assert_equal false, check["ok"]
    assert_code 3, doctor
  end

  # C86: no hardware counters are needed; which clock is in use is said.
  def test_the_clock_is_named
    assert_match(/cpu-clock/, Profiler.run("doctor").out)
  end

  # C63: what was recorded is written, and the status says that it is not all.
  def test_privileges_lost_on_the_way
    library = File.join(folder("preload"), "drop.so")
    skip "no C compiler" unless system(ENV.fetch("CC", "gcc"), "-shared", "-fPIC", "-o", library,
                                       File.join(PROGRAMS, "drop_capabilities.c"))
    program = Program.new("reload.rb", 10_000)
    profiler = Profiler.start("-p", program.pid, "-d", "60", env: { "LD_PRELOAD" => library })
    program.go
    used = Clock.let_run(program.pid, 0.8)
    profiler.signal(:USR2)
    profiler.wait
    Children.kill(program.pid)
    assert_error profiler, 3, /permission|privilege/i
    assert_operator profiler.profile.of(program.pid).sum(&:cpu), :>, used / 2
  end
end
