# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# What the gate is measured on: methods of known shares of the CPU; `part` holds 30 %. The first
# argument is what it costs, as a factor (1.2: a fifth more), the second how many objects more are
# made for each row of a turn.
class Work
  ROWS = Array.new(400) { |i| "field #{i};#{i * 37 % 101};#{i * 53 % 997}" }

  def initialize(factor, objects)
    @factor = factor
    @objects = objects
    @sum = 0
  end

  def turn
    part
    split
    sort
    count
  end

  # Arithmetic: its cost follows from the factor alone.
  def part
    i = 0
    steps = (12_200 * @factor).to_i
    while i < steps
      @sum = (@sum * 31 + i) & 0xffff_ffff
      i += 1
    end
  end

  def split
    ROWS.each do |row|
      @objects.times { Object.new }
      @sum ^= row.split(";")[1].to_i
    end
  end

  def sort = ROWS.sort_by { |row| row[-3, 3] }.size
  def count = ROWS.each_with_object(Hash.new(0)) { |row, counts| counts[row[0, 8]] += row.size }
end

work = Work.new(Float(ARGV[0] || 1), Integer(ARGV[1] || 0))
turns = Integer(ENV.fetch("TURNS", "1500"))
turns.times { work.turn }
File.write(ENV["RBPROF_WORK"], turns.to_s) if ENV["RBPROF_WORK"]
