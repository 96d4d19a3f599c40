# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Two fibers in turn, and an enumerator that runs in a fiber of its own.
require_relative "common"

def left_leaf = burn(0.002)
def right_leaf = burn(0.002)
def left_body = loop { left_leaf; Fiber.yield }
def right_body = loop { right_leaf; Fiber.yield }
def source_leaf = burn(0.002)

def resume_both(left, right)
  left.resume
  right.resume
end

left = Fiber.new { left_body }
right = Fiber.new { right_body }
source = Enumerator.new { |y| loop { source_leaf; y << 1 } }
many = Array.new(50) { Fiber.new { burn(0.002) } }

ready
200.times { resume_both(left, right) }
200.times { source.next }
many.each(&:resume)
done
