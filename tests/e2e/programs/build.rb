# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Known work on whatever Ruby runs it: build.rb [at once]
require_relative "plain"

module Known
  def self.single
    [1].each { burn(0.15) }
  end
end

class Worker
  def instance_work
    burn(0.15)
  end
end

from = (ready unless ARGV[0] == "at once")&.last || process_cpu_now
Known.single
Worker.new.instance_work
Thread.new { Thread.current.name = "helper"; burn(0.1) }.join
done(process_ns: process_cpu_now - from, version: RUBY_VERSION, pid: Process.pid, total_ns: process_cpu_now)
