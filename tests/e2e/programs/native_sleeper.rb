# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# native_sleeper.c for Ruby programs.
require "fiddle"

module NativeSleeper
  def self.open(library)
    @function = Fiddle::Function.new(Fiddle.dlopen(library)["run_native_sleeper"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT)
  end

  # Lets a native thread sleep for so long and end. It surely lived for the inner time and surely
  # not longer than the outer.
  def self.run(seconds)
    slots = Fiddle::Pointer.malloc(32, Fiddle::RUBY_FREE)
    slots[0, 32] = [(seconds * 1e9).to_i, 0, 0, 0].pack("q4")
    from = mono_now
    raise "no thread" unless @function.call(slots).zero?

    _, tid, inner_from, inner_to = slots[0, 32].unpack("q4")
    # Who joins a thread is told before its end, and it may have to wait for a CPU once more.
    sleep 0.0005 while File.exist?("/proc/self/task/#{tid}")
    { tid: tid, inner_ns: inner_to - inner_from, outer_ns: mono_now - from }
  end
end
