# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Its main thread ends, another one goes on: leaderless.rb [at once]
# With an argument the main thread is gone before anything is said.
require_relative "plain"
require "fiddle"

def orphan_work
  burn(0.3)
end

def goes_on
  sleep 0.01 until File.read("/proc/#{Process.pid}/stat").include?(") Z ")
  ready if ARGV[0]
  done(tid: tid_now, work_ns: orphan_work)
  exit!(0)
end

ready unless ARGV[0]
Thread.new { Thread.current.name = "orphan"; goes_on }
Fiddle::Function.new(Fiddle.dlopen(nil)["pthread_exit"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID).call(0)
