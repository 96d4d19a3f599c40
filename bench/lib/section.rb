# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  # What the sections share.
  class Section
    include Statistics

    def initialize(quick) = @quick = quick

    # Of two sizes the one that this run asks for.
    def size(full, quick) = @quick ? quick : full

    def figure(...) = Table.figure(...)
    def note(text) = Table.note(text)

    # "0.12 % +- 0.05" from ratios, and how it came about.
    def loss(ratios)
      kept = Statistics.trim(ratios)
      mean = Statistics.mean(kept)
      interval = Statistics.interval(kept)
      [mean, interval, format("%.2f %% +- %.2f", mean * 100, interval * 100)]
    end

    # Over by more than the measurement's own uncertainty.
    def over(mean, interval, budget) = mean - interval > budget
  end
end
