# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# What the gate runs: the same work each time, some seconds of it. How much it was is told in the
# file that RBPROF_WORK names, so that figures are of one turn.
require_relative "lib/orders"

turns = Integer(ENV.fetch("TURNS", "60"))
random = Random.new(1)
lines = Array.new(10_000) do
  "customer #{random.rand(500)};#{random.rand(1000)}.#{format("%02d", random.rand(100))};country #{random.rand(30)}\n"
end

turns.times do
  orders = Orders.new(lines)
  orders.totals
  orders.best(10)
end

File.write(ENV["RBPROF_WORK"], turns.to_s) if ENV["RBPROF_WORK"]
