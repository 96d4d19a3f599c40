# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "etc"

module Bench
  # What the figures were measured on.
  module Machine
    def self.print(quick)
      puts "machine: #{cpu}, #{Etc.nprocessors} cpus, #{memory_gb} GB, linux #{Etc.uname[:release]}, " \
           "ruby #{RUBY_VERSION}, #{version}; load #{load_average}#{", --quick" if quick}"
      if File.read("/proc/loadavg").to_f > 0.5
        puts "the machine is not idle: expect noise in every figure, most in those of a few per mille"
      end
    end

    def self.cpu = File.read("/proc/cpuinfo")[/^model name\s*:\s*(.*)$/, 1] || Etc.uname[:machine]
    def self.memory_gb = (File.read("/proc/meminfo")[/MemTotal:\s+(\d+)/, 1].to_f / 1024 / 1024).round
    def self.load_average = File.read("/proc/loadavg").split.first(3).join(" ")
    def self.version = IO.popen([BINARY, "--version"], err: File::NULL, &:read).lines.first.to_s.strip

    def self.memory_kb(pid, field)
      File.read("/proc/#{pid}/status")[/^#{field}:\s+(\d+) kB/, 1].to_i
    end

    # CPU of all threads of a process, ns, as the scheduler accounts for it.
    def self.cpu_ns(pid)
      Dir.children("/proc/#{pid}/task").sum { |tid| File.read("/proc/#{pid}/task/#{tid}/schedstat").to_i }
    end

    def self.switches(pid)
      Dir.children("/proc/#{pid}/task").sum do |tid|
        File.read("/proc/#{pid}/task/#{tid}/status").scan(/^(?:non)?voluntary_ctxt_switches:\s+(\d+)/).sum { |n,| n.to_i }
      end
    end
  end
end
