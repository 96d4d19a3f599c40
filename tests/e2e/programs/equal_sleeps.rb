# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Two threads that sleep for equal times, each in its own method (C92).
require_relative "plain"

def left_sleep
  sleep(0.5)
end

def right_sleep
  sleep(0.5)
end

ready
threads = [-> { left_sleep }, -> { right_sleep }].map do |work|
  Thread.new do
    from = mono_now
    10.times { work.call }
    mono_now - from
  end
end
left, right = threads.map(&:value)
done(left_sleep: left, right_sleep: right)
