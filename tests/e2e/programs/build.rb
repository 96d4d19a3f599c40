# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Known work on whatever Ruby runs it: build.rb [at once]
require_relative "plain"

module Known
  def self.single
    ns = 0
    [1].each { ns = burn(0.15) }
    ns
  end
end

class Worker
  def instance_work
    burn(0.15)
  end
end

def helper_work
  burn(0.1)
end

from = (ready unless ARGV[0] == "at once")&.last || process_cpu_now
works = { single_ns: Known.single, instance_ns: Worker.new.instance_work }
works[:helper_ns] = Thread.new { Thread.current.name = "helper"; helper_work }.value
done(process_ns: process_cpu_now - from, version: RUBY_VERSION, pid: Process.pid, total_ns: process_cpu_now, **works)
