# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Recursion to known depths: deep.rb SECONDS DEPTH...
# down_N calls itself until N of its frames stand, then leaf_N notes how deep the stack is.
require_relative "common"

SECONDS = ARGV.shift.to_f
DEPTHS = ARGV.map(&:to_i)
TRUTH = {}

DEPTHS.each do |depth|
  eval <<~RUBY, binding, __FILE__, __LINE__ + 1
    def leaf_#{depth} = (TRUTH["down_#{depth}"] = caller(0).size; burn(SECONDS))
    def down_#{depth}(n) = n > 1 ? down_#{depth}(n - 1) : leaf_#{depth}
  RUBY
end

# Every level goes through a C method and a block.
def through_leaf = (TRUTH["through"] = caller(0).size; burn(SECONDS))
def through(n) = n > 1 ? [n].each { through(n - 1) } : through_leaf

# The same deep middle from two roots.
def shared_leaf = (TRUTH["shared"] = caller(0).size; burn(SECONDS))
def shared(n) = n > 1 ? shared(n - 1) : shared_leaf
def root_one = shared(3_000)
def root_two = shared(3_000)

ready
DEPTHS.each { |depth| send("down_#{depth}", depth) }
through(200)
root_one
root_two
done(TRUTH)
