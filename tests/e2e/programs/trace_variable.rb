# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# dd-trace-rb with its context among the variables of the thread, where its fibers share it.
ENV["DD_TRACE_STARTUP_LOGS"] = "false"
ENV["DD_INSTRUMENTATION_TELEMETRY_ENABLED"] = "false"
ENV["DD_REMOTE_CONFIGURATION_ENABLED"] = "false"
require "json"
gem "datadog", "2.47.0"
require "datadog"

# In place of the gem's own, which is kept by fiber.
class Datadog::Tracing::FiberLocalContext
  def local=(context)
    Thread.current.thread_variable_set(@key, context)
  end

  def local(thread = Thread.current)
    thread.thread_variable_get(@key) ||
      Datadog::Tracing::Context.new.tap { |context| thread.thread_variable_set(@key, context) }
  end
end

Datadog.configure do |c|
  c.tracing.test_mode.enabled = true
  c.logger.level = Logger::FATAL
end

def work_in_span
  limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.5
  nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
end

$stdout.puts("ready")
$stdout.flush
$stdin.gets
Datadog::Tracing.trace("warm") { sleep(0.3) }
Datadog::Tracing.trace("request", type: "web", resource: "SomeController#show") do |span|
  Fiber.new { work_in_span }.resume
  File.write(ENV.fetch("TRUTH"), JSON.generate("id" => span.id.to_s))
end
$stdout.puts("done")
$stdout.flush
$stdin.read
exit!(0)
