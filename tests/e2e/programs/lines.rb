# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Work is called from known lines only: blank lines, literals over lines, rescue, ensure.
require_relative "common"

WORK_NS = Hash.new(0)

def work
  line = caller_locations(1, 1).first.lineno
  WORK_NS[line] += burn(0.015)
end

def many_lines
  work

  [1, 2].each do |x|
    work

    work if x == 2
  end
  table = { one: 1,

            two: (work; 2),
            three: 3 }
  puts "never" if
    table.empty? ||
    work.nil?
  begin
    raise "x"
  rescue RuntimeError

    work
  ensure
    work
  end
  format("%s %s",
         1, work); work
end

ready
20.times { many_lines }
done(WORK_NS)
