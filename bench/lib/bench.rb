# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "fileutils"
require "json"
require "rbconfig"
require "tmpdir"

# The benchmarks: every section measures some figures and prints each with its budget.
module Bench
  ROOT = File.expand_path("../..", __dir__)
  BINARY = File.expand_path(ENV.fetch("RBPROF", File.join(ROOT, ".output/rbprof-bpf")))
  PROGRAMS = File.join(ROOT, "bench/programs")
  BUILT = File.join(ROOT, ".output/bench")
  RUBY = RbConfig.ruby

  # Why a figure cannot be had on this host.
  class Unable < StandardError; end

  def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  def self.now_ns = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

  # A folder for what a run writes, gone at its end.
  def self.scratch = @scratch ||= Dir.mktmpdir("rbprof-bench-")
  def self.clean = @scratch && FileUtils.rm_rf(@scratch)

  def self.new_file(suffix) = File.join(scratch, "#{@files = (@files || 0) + 1}#{suffix}")

  # Until the block gives something true; what it gave.
  def self.wait_until(seconds, what)
    limit = now + seconds
    loop do
      result = yield
      return result if result
      raise Unable, "waited #{seconds} s for #{what}" if now > limit

      sleep 0.01
    end
  end
end

%w[machine table statistics section children program recorder kernel_side compiled gems].each do |name|
  require_relative name
end
require_relative "../../tests/e2e/pprof"
