# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Children of a process with dd-trace-rb, each with spans of its own from its first instant, and
# many root spans: trace_forks.rb CHILDREN ROOTS
ENV["DD_TRACE_STARTUP_LOGS"] = "false"
ENV["DD_INSTRUMENTATION_TELEMETRY_ENABLED"] = "false"
ENV["DD_REMOTE_CONFIGURATION_ENABLED"] = "false"
require "json"
gem "datadog", "2.47.0"
require "datadog"
Datadog.configure do |c|
  c.tracing.test_mode.enabled = true
  c.logger.level = Logger::FATAL
end

CHILDREN, ROOTS = ARGV.map(&:to_i)

def spin(seconds)
  limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
  nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
end

def work_before(seconds) = spin(seconds)
def work_of_child(seconds) = spin(seconds)
def work_of_roots(seconds) = spin(seconds)

$stdout.puts("ready")
$stdout.flush
$stdin.gets
3.times { Datadog::Tracing.trace("before", type: "web", resource: "before") { work_before(0.2) } }
truth = Array.new(CHILDREN) do
  reader, writer = IO.pipe
  pid = fork do
    Datadog::Tracing.trace("child", type: "web", resource: "ChildController#show") do |span|
      writer.puts(span.id)
      work_of_child(0.3)
    end
    exit!(0)
  end
  writer.close
  root = reader.gets.to_i
  Process.wait(pid)
  [pid, root.to_s]
end
ROOTS.times do |n|
  Datadog::Tracing.trace("root", type: "web", resource: "RootController##{n}") { work_of_roots(0.002) }
end
File.write(ENV.fetch("TRUTH"), JSON.generate("children" => truth.to_h))
$stdout.puts("done")
$stdout.flush
$stdin.read
exit!(0)
