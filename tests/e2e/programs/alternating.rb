# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# A thread that calls one of two chains of methods all the time, and others that want its GVL.
require_relative "common"

def inner_of_one(n) = n.abs
def middle_of_one(n) = inner_of_one(n)
def one(n) = middle_of_one(n)
def inner_of_two(n) = n.to_s
def middle_of_two(n) = inner_of_two(n)
def two(n) = middle_of_two(n)

def alternate
  n = 0
  while true
    one(n)
    two(n)
    n += 1
  end
end

2.times do |i|
  Thread.new do
    Thread.current.name = "alternating #{i}"
    alternate
  end
end
ready
exit!(0)
