# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# dd-trace-rb, driven through OpenTelemetry's API. From 2.7 on.
ENV["DD_TRACE_STARTUP_LOGS"] = "false"
ENV["DD_INSTRUMENTATION_TELEMETRY_ENABLED"] = "false"
ENV["DD_REMOTE_CONFIGURATION_ENABLED"] = "false"
require "json"
gem "datadog", "2.47.0"
require "opentelemetry/sdk"
require "datadog"
require "datadog/opentelemetry"

Datadog.configure do |c|
  c.tracing.enabled = true
  c.tracing.test_mode.enabled = true
  c.logger.level = Logger::FATAL
end
OpenTelemetry::SDK.configure
TRACER = OpenTelemetry.tracer_provider.tracer("test")

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

def spin(seconds)
  limit = now + seconds
  nil while now < limit
end

%w[work_warm work_in_root work_in_child work_in_grandchild work_of_datadog work_in_cycle work_outside].each do |name|
  eval("def #{name}\n spin(0.3)\nend", nil, __FILE__, __LINE__)
end

$truth = {}

def note(name, root, span)
  $truth[name] = { "roots" => [root.datadog_span.id.to_s], "spans" => [(span.respond_to?(:datadog_span) ? span.datadog_span : span).id.to_s] }
end

def spans
  TRACER.in_span("root", kind: :server) do |root|
    root.datadog_span.resource = "GET /both"
    root.datadog_span.type = "web"
    note("Object#work_in_root", root, root)
    work_in_root
    TRACER.in_span("child") do |child|
      note("Object#work_in_child", root, child)
      work_in_child
      TRACER.in_span("grandchild") do |grandchild|
        note("Object#work_in_grandchild", root, grandchild)
        work_in_grandchild
        Datadog::Tracing.trace("its own") do |span|
          note("Object#work_of_datadog", root, span)
          work_of_datadog
        end
      end
    end
  end
  work_outside
end

# A chain that leads back to itself: that ends it.
def cycle
  TRACER.in_span("cyclic") do |span|
    key = OpenTelemetry::Trace.const_get(:CURRENT_SPAN_KEY)
    trace = Datadog::Tracing.active_trace
    span.datadog_trace.otel_values[key] = span
    trace.otel_values[key] = span
    span.datadog_span.resource = "GET /both"
    span.datadog_span.type = "web"
    note("Object#work_in_cycle", span, span)
    work_in_cycle
  end
end

$stdout.puts("ready")
$stdout.flush
$stdin.gets
3.times do
  TRACER.in_span("warm") { TRACER.in_span("warmer") { work_warm } }
  sleep(0.2)
end
spans
cycle
File.write(ENV.fetch("TRUTH"), JSON.generate("methods" => $truth))
$stdout.puts("done")
$stdout.flush
$stdin.read
exit!(0) # without a last try to reach an agent
