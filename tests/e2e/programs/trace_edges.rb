# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Spans of dd-trace-rb where they are hard to read, from Ruby 3.2 on.
ENV["DD_TRACE_STARTUP_LOGS"] = "false"
ENV["DD_INSTRUMENTATION_TELEMETRY_ENABLED"] = "false"
ENV["DD_REMOTE_CONFIGURATION_ENABLED"] = "false"
require "json"
gem "datadog", "2.47.0"
require "datadog"

def configure(enabled)
  Datadog.configure do |c|
    c.tracing.enabled = enabled
    c.tracing.test_mode.enabled = true
    c.logger.level = Logger::FATAL
  end
end

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

def spin(seconds)
  limit = now + seconds
  nil while now < limit
end

def work_warm = spin(0.4)
def work_complex = spin(0.4)
def work_after_complex = spin(0.4)
def work_off = spin(0.4)

# Two spans by turns inside of one method; which one is told by the line of the call.
def work_changing
  limit = now + 0.8
  $truth["lines"] = { "#{__LINE__ + 2}" => [], "#{__LINE__ + 3}" => [] }
  while now < limit
    Datadog::Tracing.trace("one") { |span| $truth["lines"].values[0] << span.id.to_s; spin(0.0002) }
    Datadog::Tracing.trace("two") { |span| $truth["lines"].values[1] << span.id.to_s; spin(0.0002) }
  end
end

# Garbage, and collections that move what lives.
def work_moving
  limit = now + 0.8
  while now < limit
    Array.new(2000) { |n| "garbage #{n}" }
    GC.start(full_mark: true, immediate_sweep: true) if rand(20).zero?
  end
end

def note(name, span) = ($truth[name] ||= []) << span.id.to_s

# So many variables in so many orders that the last objects have them in a table of their own.
def complex
  40.times do |n|
    Datadog::Tracing.trace("odd") { |span| span.instance_variable_set(:"@odd#{n}", n) }
  end
  Datadog::Tracing.trace("complex") do |span|
    span.instance_variable_set(:@odd_at_last, 1)
    note("Object#work_complex", span)
    work_complex
  end
  Datadog::Tracing.trace("plain") { |span| note("Object#work_after_complex", span); work_after_complex }
end

$truth = {}
configure(true)
$stdout.puts("ready")
$stdout.flush
$stdin.gets
2.times { Datadog::Tracing.trace("warm") { work_warm } }
Datadog::Tracing.trace("root") { work_changing }
GC.auto_compact = true
Datadog::Tracing.trace("moving") { |span| note("Object#work_moving", span); work_moving }
GC.auto_compact = false
complex
configure(false)
Datadog::Tracing.trace("off") { work_off }
File.write(ENV.fetch("TRUTH"), JSON.generate($truth))
$stdout.puts("done")
$stdout.flush
$stdin.read
exit!(0) # without a last try to reach an agent
