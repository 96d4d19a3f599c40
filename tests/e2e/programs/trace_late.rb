# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# A request whose endpoint is known only in its last part: trace_late.rb datadog|otel SECONDS, of
# each part.
ENV["DD_TRACE_STARTUP_LOGS"] = "false"
ENV["DD_INSTRUMENTATION_TELEMETRY_ENABLED"] = "false"
ENV["DD_REMOTE_CONFIGURATION_ENABLED"] = "false"
ENV["OTEL_TRACES_EXPORTER"] = "none"

SECONDS = ARGV.fetch(1).to_f

def work
  limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + SECONDS
  nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
end

def work_warm = work
def work_early = work
def work_late = work

def done
  $stdout.puts("done")
  $stdout.flush
end

def with_datadog
  Datadog::Tracing.trace("warm") { work_warm }
  Datadog::Tracing.trace("late", type: "web", resource: "GET 200") do |_, trace|
    Datadog::Tracing.trace("inner") { work_early }
    trace.resource = "LateController#index"
    work_late
  end
end

def with_otel
  tracer = OpenTelemetry.tracer_provider.tracer("test")
  tracer.in_span("warm") { work_warm }
  tracer.in_span("HTTP GET", kind: :server) do |root|
    tracer.in_span("inner") { work_early }
    root.name = "LateController#index"
    work_late
  end
end

if ARGV.first == "datadog"
  gem "datadog", "2.47.0"
  require "datadog"
  Datadog.configure do |c|
    c.tracing.enabled = true
    c.tracing.test_mode.enabled = true
    c.logger.level = Logger::FATAL
  end
else
  require "opentelemetry/sdk"
  OpenTelemetry::SDK.configure
end
$stdout.puts("ready")
$stdout.flush
$stdin.gets
ARGV.first == "datadog" ? with_datadog : with_otel
done
$stdin.read
exit!(0) # without a last try to reach an agent
