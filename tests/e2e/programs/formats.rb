# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# For the formats: threads that wait for the GVL, collections, and names that readers get wrong.
NAMES = ["semi;colon", "quote \" and \\ slash", "line\nbreak\ttab \u0001\u007f", "rocket \u{1F680}", "bad \xff\xfe".b,
         "</script><b>&amp;", "12 34", " spaces ", "next\u2028line"].freeze

NAMES.each { |name| define_method(name.to_sym) { 400_000.times { |i| i.to_s } } }

def down(levels) = levels.positive? ? down(levels - 1) : 3_000_000.times {}

# Named before they do anything, so that no tick comes before.
start = Thread::Queue.new
threads = Array.new(2) do |i|
  Thread.new do
    start.pop
    NAMES.each { |name| send(name.to_sym) }
    sleep 0.05
  end
end
threads.each_with_index { |thread, i| thread.name = "worker \"#{i}\"; \u{1F916}" }
threads.each { start << true }
Thread.new { down(3_985) }.join
GC.start
threads.each(&:join)
