# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Counts system calls of its own that a signal interrupted: eintr.rb SECONDS
# and until it was 200 of them.
require_relative "common"
require "fiddle"

poll = Fiddle::Function.new(Fiddle::Handle::DEFAULT["poll"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_LONG, Fiddle::TYPE_INT], Fiddle::TYPE_INT)
ready
interrupted = calls = 0
limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + ARGV.fetch(0).to_f
until calls >= 200 && Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
  interrupted += 1 if poll.call(nil, 0, 3) != 0
  calls += 1
  burn(0.001)
end
done(interrupted: interrupted, calls: calls)
