# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Spans of dd-trace-rb. Each method is called in spans of its own alone, whose ids it writes down:
# trace_datadog.rb SECONDS. From 2.7 on. GEM_VERSION: of datadog.
ENV["DD_TRACE_STARTUP_LOGS"] = "false"
ENV["DD_INSTRUMENTATION_TELEMETRY_ENABLED"] = "false"
ENV["DD_REMOTE_CONFIGURATION_ENABLED"] = "false"
gem "datadog", ENV.fetch("GEM_VERSION")
require "datadog"
require "fiber"
require "json"

def configure
  Datadog.configure do |c|
    c.tracing.enabled = true
    c.tracing.test_mode.enabled = true
    c.logger.level = Logger::FATAL
  end
end
configure

SECONDS = ARGV.fetch(0).to_f
# method => the ids that its samples may have; nil: none
$truth = Hash.new { |all, name| all[name] = { "roots" => [], "spans" => [], "endpoint" => nil } }

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end


def note(name, root, span, endpoint = nil)
  entry = $truth[name]
  entry["roots"] << root.id.to_s unless entry["roots"].last == root.id.to_s
  entry["spans"] << span.id.to_s
  entry["endpoint"] = endpoint
end

# 100 us each.
def in_first
  limit = now + 0.0001
  nil while now < limit
end

def in_second
  limit = now + 0.0001
  nil while now < limit
end

def warm_first
  limit = now + 0.0001
  nil while now < limit
end

def warm_second
  limit = now + 0.0001
  nil while now < limit
end

def switch_spans(seconds, first, second)
  limit = now + seconds
  Datadog::Tracing.trace("switch", type: "web", resource: "SwitchController#show") do |root|
    while now < limit
      Datadog::Tracing.trace("first") { |span| note("Object##{first}", root, span, "SwitchController#show"); send(first) }
      Datadog::Tracing.trace("second") { |span| note("Object##{second}", root, span, "SwitchController#show"); send(second) }
    end
  end
end

def spin(seconds)
  limit = now + seconds
  nil while now < limit
end

def work_outside
  spin(0.2)
end

def work_proxy
  spin(0.2)
end

def work_warm
  spin(0.2)
end

def work_worker
  spin(0.2)
end

def work_late
  spin(0.2)
end

def work_of_parent
  spin(0.2)
end

def work_big_id
  spin(0.2)
end

def work_in_thread
  spin(0.2)
end

def work_in_fiber
  spin(0.2)
end

def work_beside_fiber
  spin(0.2)
end

def work_configured
  spin(0.2)
end

def work_compacted
  spin(0.2)
end

def work_anew
  spin(0.2)
end

def sleep_in_span
  sleep(0.3)
end


# Since before the recording, until it is over.
def sleep_all_along
  sleep
end

def collect
  limit = now + 0.2
  GC.start while now < limit
end

def traced(name, method, endpoint = nil, **options)
  Datadog::Tracing.trace(name, **options) do |span, trace|
    note("Object##{method}", span, span, endpoint)
    yield trace if block_given?
    send(method)
  end
end

def kinds
  traced("proxy", :work_proxy, "GET /", type: "proxy", resource: "GET /")
  traced("worker", :work_worker, nil, type: "worker", resource: "SomeJob")
  work_outside
  # Set when half of the work is done: it goes on what came before, too.
  Datadog::Tracing.trace("late", type: "web", resource: "GET 200") do |span, trace|
    note("Object#work_late", span, span, "LateController#index")
    work_late
    trace.resource = "LateController#index"
    work_late
  end
  traced("sleep", :sleep_in_span, "SleepController#index", type: "web", resource: "SleepController#index")
  traced("gc", :collect)
end

# A trace that another process began, whose ids may have all 64 bits.
def distributed
  digest = Datadog::Tracing::TraceDigest.new(trace_id: (1 << 64) - 5, span_id: (1 << 64) - 7)
  Datadog::Tracing.trace("continued", continue_from: digest) do |span|
    note("Object#work_of_parent", span, span)
    work_of_parent
  end
  Datadog::Tracing.trace("big") do |span|
    span.instance_variable_set(:@id, (1 << 63) + 12_345)
    note("Object#work_big_id", span, span)
    work_big_id
  end
end

def threads_and_fibers
  Array.new(3) { Thread.new { traced("thread", :work_in_thread) } }.each(&:join)
  Datadog::Tracing.trace("outer") do |span|
    note("Object#work_beside_fiber", span, span)
    fiber = Fiber.new do
      Datadog::Tracing.trace("inner") do |inner|
        note("Object#work_in_fiber", inner, inner)
        work_in_fiber
        Fiber.yield
        work_in_fiber
      end
    end
    fiber.resume
    work_beside_fiber
    fiber.resume
  end
end

# All objects get another place, classes too.
def compacted
  GC.compact
  sleep(0.5) # until that is found out
  traced("compacted", :work_compacted)
end

# The old context stays behind under its own name.
def configured_again
  traced("before", :work_configured)
  configure
  sleep(0.5) # until the new name is found
  traced("anew", :work_anew)
end

$asleep = Thread.new { traced("asleep", :sleep_all_along, "SleepController#long", type: "web", resource: "SleepController#long") }
Thread.pass until $asleep.stop?
kept = $truth.dup
$stdout.puts("ready")
$stdout.flush
$stdin.gets
# Kinds of objects that come into being with the first spans are learned as they are met.
3.times { traced("warm", :work_warm) }
switch_spans(0.5, :warm_first, :warm_second)
$truth.clear
$truth.merge!(kept)
switch_spans(SECONDS, :in_first, :in_second)
kinds
distributed
threads_and_fibers
compacted
configured_again
File.write(ENV.fetch("TRUTH"), JSON.generate("methods" => $truth))
$stdout.puts("done")
$stdout.flush
$stdin.read
exit!(0) # without a last try to reach an agent
