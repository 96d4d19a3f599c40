# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# A web application: Rack on Puma with 8 threads, traced by dd-trace-rb or OpenTelemetry
# (trace_web.rb datadog|otel). It says how much CPU each of its endpoints used.
require "json"
require "puma"
require "puma/server"
require "rack"

ENV["DD_TRACE_STARTUP_LOGS"] = "false"
ENV["DD_INSTRUMENTATION_TELEMETRY_ENABLED"] = "false"
ENV["DD_REMOTE_CONFIGURATION_ENABLED"] = "false"

$used = Hash.new(0)
$lock = Mutex.new

def burn(seconds)
  from = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
  nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - from < seconds
end

PAGES = { "/cheap" => ["CheapController#show", 0.001], "/middle" => ["MiddleController#index", 0.003],
          "/dear" => ["DearController#create", 0.006] }.freeze

# Inside of what the tracer does, so that its own work makes no difference.
def serve(path)
  name, seconds = PAGES.fetch(path)
  from = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
  burn(seconds)
  used = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) - from
  $lock.synchronize { $used[name] += used }
  [200, { "content-type" => "text/plain" }, ["done\n"]]
end

if ARGV.fetch(0) == "datadog"
  gem "datadog", "2.47.0"
  require "datadog"
  Datadog.configure do |c|
    c.tracing.test_mode.enabled = true
    c.logger.level = Logger::FATAL
    c.tracing.instrument :rack
  end
  inner = lambda do |env|
    path = env["PATH_INFO"]
    # As a framework's integration does, once it knows.
    Datadog::Tracing.active_trace.resource = PAGES.fetch(path).first
    serve(path)
  end
  APP = Datadog::Tracing::Contrib::Rack::TraceMiddleware.new(inner)
else
  ENV["OTEL_TRACES_EXPORTER"] = "none"
  require "opentelemetry/sdk"
  OpenTelemetry::SDK.configure
  TRACER = OpenTelemetry.tracer_provider.tracer("web")
  APP = lambda do |env|
    path = env["PATH_INFO"]
    TRACER.in_span(PAGES.fetch(path).first, kind: :server) { TRACER.in_span("inner") { serve(path) } }
  end
end

server = Puma::Server.new(APP, nil, min_threads: 8, max_threads: 8, log_writer: Puma::LogWriter.null)
port = server.add_tcp_listener("127.0.0.1", 0).addr[1]
server.run
File.write(ENV.fetch("TRUTH"), JSON.generate("port" => port))
$stdout.puts("ready")
$stdout.flush
$stdin.gets
$lock.synchronize { $used.clear }
$stdout.puts("done")
$stdout.flush
$stdin.gets
File.write(ENV.fetch("TRUTH"), JSON.generate("used" => $used))
$stdout.puts("written")
$stdout.flush
$stdin.read
exit!(0)
