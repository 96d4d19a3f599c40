# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# A process with a tracer that made one span: tracers.rb datadog|otel VERSION (of dd-trace-rb, or of
# OpenTelemetry's API). From 2.7 on.
ENV["DD_TRACE_STARTUP_LOGS"] = "false"
ENV["DD_INSTRUMENTATION_TELEMETRY_ENABLED"] = "false"
ENV["DD_REMOTE_CONFIGURATION_ENABLED"] = "false"
ENV["OTEL_TRACES_EXPORTER"] = "none"

if ARGV.fetch(0) == "datadog"
  gem "datadog", ARGV.fetch(1)
  require "datadog"
  Datadog.configure do |c|
    c.tracing.test_mode.enabled = true
    c.logger.level = Logger::FATAL
  end
  Datadog::Tracing.trace("one") { nil }
else
  gem "opentelemetry-api", ARGV.fetch(1)
  require "opentelemetry/sdk"
  OpenTelemetry::SDK.configure
  OpenTelemetry.tracer_provider.tracer("test").in_span("one") { nil }
end
$stdout.puts("ready")
$stdout.flush
$stdin.read
exit!(0) # without a last try to reach an agent
