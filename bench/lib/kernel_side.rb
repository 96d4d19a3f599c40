# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  # The profiler's programs and timers in the kernel, reached through its open files. A copy of
  # one of its file descriptors refers to the same timer or program, so a timer can be halted and
  # a program attached and detached while everything else stays as the profiler made it.
  module KernelSide
    SYSCALLS = {
      "x86_64" => { bpf: 321, perf_event_open: 298, pidfd_open: 434, pidfd_getfd: 438 },
      "aarch64" => { bpf: 280, perf_event_open: 241, pidfd_open: 434, pidfd_getfd: 438 }
    }.freeze
    # linux/bpf.h: enum bpf_cmd
    BPF_PROG_LOAD = 5
    BPF_RAW_TRACEPOINT_OPEN = 17
    BPF_ENABLE_STATS = 32
    # linux/bpf.h: a program that says 0 and nothing else (BPF_ALU64 | BPF_MOV | BPF_K, BPF_EXIT)
    BPF_PROG_TYPE_RAW_TRACEPOINT = 17
    EMPTY_PROGRAM = [0xb7, 0, 0, 0, 0x95, 0, 0, 0].pack("CCsLCCsL")
    # linux/perf_event.h: struct perf_event_attr, a software event, the CPU clock, made disabled
    PERF_ATTR_BYTES = 128
    PERF_ATTR_FLAGS_OFFSET = 40
    PERF_TYPE_SOFTWARE = 1
    PERF_COUNT_SW_CPU_CLOCK = 0
    PERF_FLAG_DISABLED = 1
    PERF_FLAG_FD_CLOEXEC = 8
    PERF_EVENT_IOC_ENABLE = 0x2400
    PERF_EVENT_IOC_DISABLE = 0x2401

    class << self
      # Run times of programs are counted while the block runs. The kernel's switch
      # (kernel.bpf_stats_enabled) is held through a file, so it falls back whatever happens to us.
      def with_stats
        switch = IO.for_fd(bpf(BPF_ENABLE_STATS, [0, 0].pack("LL")))
        yield
      ensure
        switch&.close
      end

      # By name: { "on_tick" => { ns:, count:, id:, fd: } }; fd in the profiler's process.
      def programs(pid)
        own = files(pid, "bpf-prog").to_h { |fd| [fdinfo(pid, fd)["prog_id"].to_i, fd] }
        listed = JSON.parse(IO.popen([bpftool, "prog", "show", "-j"], err: File::NULL, &:read))
        listed.select { |p| own.key?(p["id"]) }.to_h do |p|
          [p["name"], { ns: p["run_time_ns"].to_i, count: p["run_cnt"].to_i, id: p["id"], fd: own[p["id"]] }]
        end
      rescue JSON::ParserError, Errno::ENOENT
        raise Unable, "bpftool lists no programs"
      end

      # What the programs did while the block ran: { "on_tick" => { ns:, count: } }
      def measure(pid)
        with_stats do
          before = programs(pid)
          yield
          programs(pid).to_h do |name, now|
            was = before.fetch(name, { ns: 0, count: 0 })
            [name, { ns: now[:ns] - was[:ns], count: now[:count] - was[:count] }]
          end
        end
      end

      def timer_count(pid)
        files(pid, "bpf_link").count { |fd| fdinfo(pid, fd)["link_type"] == "perf" }
      rescue Errno::ENOENT
        0
      end

      # All perf events of a process: its timers, and the side-band, which costs next to nothing.
      def timers(pid) = files(pid, "[perf_event]").map { |fd| IO.for_fd(copy(pid, fd)) }

      # Timers like the profiler's without a program: what the interrupts alone cost. Halted.
      def bare_timers(hz)
        attributes = [PERF_TYPE_SOFTWARE, PERF_ATTR_BYTES, PERF_COUNT_SW_CPU_CLOCK, 1_000_000_000 / hz].pack("LLQQ")
        attributes = attributes.ljust(PERF_ATTR_BYTES, "\0")
        attributes[PERF_ATTR_FLAGS_OFFSET, 8] = [PERF_FLAG_DISABLED].pack("Q")
        Array.new(Etc.nprocessors) do |cpu|
          IO.for_fd(call(:perf_event_open, address(attributes), -1, cpu, -1, PERF_FLAG_FD_CLOEXEC))
        end
      end

      def set_timers(timers, on)
        timers.each { |timer| timer.ioctl(on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) }
      end

      # Attaches a tracing program where it says that it belongs; closing the file detaches it.
      def attach(program)
        IO.for_fd(bpf(BPF_RAW_TRACEPOINT_OPEN, [0, program.fileno, 0].pack("QLL")))
      end

      # A program that does nothing at a tracepoint, attached: what the kernel's call of one costs.
      def attach_empty(tracepoint)
        program = IO.for_fd(bpf(BPF_PROG_LOAD, [BPF_PROG_TYPE_RAW_TRACEPOINT, EMPTY_PROGRAM.bytesize / 8,
                                                address(EMPTY_PROGRAM), address("GPL\0"), 0, 0, 0].pack("LLQQLLQ")))
        IO.for_fd(bpf(BPF_RAW_TRACEPOINT_OPEN, [address("#{tracepoint}\0"), program.fileno, 0].pack("QLL")))
      ensure
        program&.close
      end

      def copy_program(pid, name)
        program = programs(pid)[name] || raise(Unable, "the profiler has no program #{name}")
        IO.for_fd(copy(pid, program[:fd]))
      end

      private

      def call(name, *arguments)
        numbers = SYSCALLS[RbConfig::CONFIG["host_cpu"]] || raise(Unable, "unknown machine")
        syscall(numbers[name], *arguments)
      end

      def bpf(command, attributes) = call(:bpf, command, address(attributes), attributes.bytesize)

      # syscall takes strings without zero bytes only.
      def address(attributes) = [attributes].pack("P").unpack1("J")

      def copy(pid, fd)
        process = IO.for_fd(call(:pidfd_open, pid, 0))
        call(:pidfd_getfd, process.fileno, fd, 0)
      ensure
        process&.close
      end

      def files(pid, kind)
        Dir.children("/proc/#{pid}/fd").map(&:to_i).sort.select do |fd|
          File.readlink("/proc/#{pid}/fd/#{fd}").include?(kind)
        rescue Errno::ENOENT
          false
        end
      end

      def fdinfo(pid, fd)
        File.readlines("/proc/#{pid}/fdinfo/#{fd}").grep(/:/).to_h { |line| line.chomp.split(/:\s*/, 2) }
      end

      def bpftool = ["/usr/sbin/bpftool", "/usr/bin/bpftool"].find { |path| File.executable?(path) } || "bpftool"
    end
  end
end
