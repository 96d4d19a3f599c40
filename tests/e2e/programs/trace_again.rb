# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# dd-trace-rb, configured again and again, each time with a span at once, while a thread stays in a
# span of the first tracer: trace_again.rb TIMES. From 2.7 on.
ENV["DD_TRACE_STARTUP_LOGS"] = "false"
ENV["DD_INSTRUMENTATION_TELEMETRY_ENABLED"] = "false"
ENV["DD_REMOTE_CONFIGURATION_ENABLED"] = "false"
require "json"
gem "datadog", "2.47.0"
require "datadog"

TIMES = ARGV.fetch(0).to_i

def configure
  Datadog.configure do |c|
    c.tracing.enabled = true
    c.tracing.test_mode.enabled = true
    c.logger.level = Logger::FATAL
  end
end

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

TIMES.times do |n|
  eval("def work_#{n}\n limit = now + 0.2\n nil while now < limit\nend", nil, __FILE__, __LINE__)
end

def work_before
  limit = now + 0.4
  nil while now < limit
end

def work_all_along
  sleep(0.001) while $working
end

def note(method, id)
  $truth["Object##{method}"] = id.to_s
end

$truth = {}
$working = true
configure
$stdout.puts("ready")
$stdout.flush
$stdin.gets
ready = Queue.new
along = Thread.new do
  Datadog::Tracing.trace("along") do |span|
    note("work_all_along", span.id)
    ready << true
    work_all_along
  end
end
ready.pop
Datadog::Tracing.trace("before") { |span| note("work_before", span.id); work_before }
TIMES.times do |n|
  # The span of the tracer before is still open: its context says so, but is no longer in use.
  old = Datadog::Tracing.trace("old") if n.odd?
  configure
  Datadog::Tracing.trace("again") { |span| note("work_#{n}", span.id); send("work_#{n}") }
  old&.finish
end
$working = false
along.join
File.write(ENV.fetch("TRUTH"), JSON.generate($truth))
$stdout.puts("done")
$stdout.flush
$stdin.read
exit!(0) # without a last try to reach an agent
