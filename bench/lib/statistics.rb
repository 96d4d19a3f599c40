# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  # Of a list of numbers.
  module Statistics
    def self.median(list)
      sorted = list.sort
      middle = sorted.size / 2
      sorted.size.odd? ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0
    end

    def self.mean(list) = list.sum.to_f / list.size

    # Half the width of the 95 % interval of the mean.
    def self.interval(list)
      return Float::INFINITY if list.size < 2

      center = mean(list)
      deviation = Math.sqrt(list.sum { |x| (x - center)**2 } / (list.size - 1))
      1.96 * deviation / Math.sqrt(list.size)
    end

    # Drops the outermost twentieth at both ends: slices that another task of the host disturbed.
    def self.trim(list)
      cut = list.size / 20
      list.sort[cut, list.size - 2 * cut]
    end
  end

  # Neighbouring slices with (A) and without (B) what is measured, as A B B A A B B A, so that a
  # machine that gets slower or faster meanwhile disturbs both alike.
  class Pairs
    attr_reader :with, :without

    # The block is given whether it is on, and gives the slice's cost.
    def initialize(count)
      @with = []
      @without = []
      count.times do |i|
        (i.even? ? [true, false] : [false, true]).each { |on| (on ? @with : @without) << yield(on) }
      end
    end

    def size = @with.size
    def ratios = @with.zip(@without).map { |a, b| a.to_f / b - 1 }
    def differences = @with.zip(@without).map { |a, b| a - b }
  end
end
