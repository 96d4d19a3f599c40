# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Busy in a span of dd-trace-rb ("traced.rb datadog") or OpenTelemetry ("otel"), until its input ends.
ENV["DD_TRACE_STARTUP_LOGS"] = "false"
ENV["DD_INSTRUMENTATION_TELEMETRY_ENABLED"] = "false"
ENV["DD_REMOTE_CONFIGURATION_ENABLED"] = "false"
require_relative "common"

def work
  puts "ready"
  burn(1_000_000) until told?
  exit!(0)
end

if ARGV.fetch(0) == "datadog"
  gem "datadog", "2.47.0"
  require "datadog"
  Datadog.configure do |c|
    c.tracing.test_mode.enabled = true
    c.logger.level = Logger::FATAL
  end
  Datadog::Tracing.trace("request", type: "web", resource: "SomeController#show") { Datadog::Tracing.trace("inner") { work } }
else
  ENV["OTEL_TRACES_EXPORTER"] = "none"
  require "opentelemetry/sdk"
  OpenTelemetry::SDK.configure
  tracer = OpenTelemetry.tracer_provider.tracer("bench")
  tracer.in_span("request", kind: :server) { tracer.in_span("inner") { work } }
end
