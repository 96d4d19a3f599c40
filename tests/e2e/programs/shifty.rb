# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Compacts and executes itself again and again: shifty.rb MONOTONIC_END
limit = ARGV.fetch(0).to_f
$stdout.sync = true
unless ARGV[1]
  puts "ready"
  $stdin.gets
end
junk = Array.new(20_000) { |i| "#{i}" * 3 }
10.times do
  junk.shuffle!
  junk.pop(1_000)
  GC.compact
  Class.new { def self.short_lived = 10_000.times { |i| i } }.short_lived
end
if Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
  exec(RbConfig.ruby, __FILE__, ARGV[0], "again")
else
  puts "done"
  $stdin.read
end
