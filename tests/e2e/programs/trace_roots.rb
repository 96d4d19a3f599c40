# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Very many root spans, each with an endpoint of its own: trace_roots.rb COUNT
ENV["DD_TRACE_STARTUP_LOGS"] = "false"
ENV["DD_INSTRUMENTATION_TELEMETRY_ENABLED"] = "false"
ENV["DD_REMOTE_CONFIGURATION_ENABLED"] = "false"
require "json"
gem "datadog", "2.47.0"
require "datadog"
Datadog.configure do |c|
  c.tracing.enabled = true
  c.tracing.test_mode.enabled = true
  c.logger.level = Logger::FATAL
end

def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)

def work_in_root(seconds)
  limit = now + seconds
  nil while now < limit
end

def root(name, seconds)
  Datadog::Tracing.trace("root", type: "web", resource: name) { |span| work_in_root(seconds); span.id }
end

$stdout.puts("ready")
$stdout.flush
$stdin.gets
root("Warm#root", 0.5)
truth = Array.new(ARGV.fetch(0).to_i) { |n| root("Root##{n}", 0.00025) }
File.write(ENV.fetch("TRUTH"), JSON.generate("roots" => truth.map(&:to_s)))
$stdout.puts("done")
$stdout.flush
$stdin.read
exit!(0) # without a last try to reach an agent
