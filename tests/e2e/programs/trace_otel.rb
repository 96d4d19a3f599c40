# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Spans of OpenTelemetry's SDK. Each method is called in spans of its own alone, whose ids it writes
# down: trace_otel.rb SECONDS. API_VERSION: of opentelemetry-api. From 2.7 on.
require "json"
gem "opentelemetry-api", ENV.fetch("API_VERSION")
require "opentelemetry/sdk"

ENV["OTEL_TRACES_EXPORTER"] = "none"
OpenTelemetry::SDK.configure
TRACER = OpenTelemetry.tracer_provider.tracer("test")

SECONDS = ARGV.fetch(0).to_f
$truth = Hash.new { |all, name| all[name] = { "traces" => [], "spans" => [], "endpoint" => nil } }

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

def note(name, span, endpoint = nil)
  entry = $truth[name]
  entry["traces"] << span.context.hex_trace_id unless entry["traces"].last == span.context.hex_trace_id
  entry["spans"] << span.context.hex_span_id
  entry["endpoint"] = endpoint
end

def spin(seconds)
  limit = now + seconds
  nil while now < limit
end

# 100 us each.
%w[in_first in_second warm_first warm_second].each do |name|
  eval("def #{name}\n limit = now + 0.0001\n nil while now < limit\nend", nil, __FILE__, __LINE__)
end

%w[work_outside work_client work_in_fiber work_beside_fiber work_in_thread work_compacted work_warm].each do |name|
  eval("def #{name}\n spin(0.2)\nend", nil, __FILE__, __LINE__)
end

def sleep_in_span
  sleep(0.3)
end

def collect
  limit = now + 0.2
  GC.start while now < limit
end

def traced(name, method, endpoint = nil, **options)
  TRACER.in_span(name, **options) do |span|
    note("Object##{method}", span, endpoint)
    send(method)
  end
end

def switch_spans(seconds, first, second)
  limit = now + seconds
  TRACER.in_span("GET /switch", kind: :server) do
    while now < limit
      traced("first", first, "GET /switch")
      traced("second", second, "GET /switch")
    end
  end
end

def fibers
  TRACER.in_span("outer") do |span|
    note("Object#work_beside_fiber", span)
    fiber = Fiber.new do
      traced("inner", :work_in_fiber)
      Fiber.yield
      traced("inner again", :work_in_fiber)
    end
    fiber.resume
    work_beside_fiber
    fiber.resume
  end
end

$stdout.puts("ready")
$stdout.flush
$stdin.gets
3.times { traced("warm", :work_warm) }
switch_spans(0.5, :warm_first, :warm_second)
$truth.clear
switch_spans(SECONDS, :in_first, :in_second)
work_outside
traced("client", :work_client, nil, kind: :client)
traced("sleep", :sleep_in_span, "sleep", kind: :server)
traced("gc", :collect)
Array.new(3) { Thread.new { traced("thread", :work_in_thread) } }.each(&:join)
fibers
GC.compact
sleep(0.5)
traced("compacted", :work_compacted)
File.write(ENV.fetch("TRUTH"), JSON.generate("methods" => $truth))
$stdout.puts("done")
$stdout.flush
$stdin.read
