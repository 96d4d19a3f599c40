# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Works on in a process with very many mappings: many_mappings.rb COUNT
require_relative "plain"
require "fiddle"

map = Fiddle::Function.new(Fiddle.dlopen(nil)["mmap"],
                           [Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_INT, Fiddle::TYPE_INT,
                            Fiddle::TYPE_INT, Fiddle::TYPE_LONG], Fiddle::TYPE_UINTPTR_T)
program = File.open("/proc/self/exe")
# Every other one may be executed, so that no two become one; each is of a file.
ARGV.fetch(0).to_i.times { |i| map.call(nil, 4_096, i.even? ? 5 : 1, 2, program.fileno, 0) }

def busy_work
  burn(0.001)
end

from = ready[1]
busy_work until IO.select([$stdin], nil, nil, 0.0005)
$stdin.gets
mappings = File.foreach("/proc/self/maps").count
done(mappings: mappings, process_ns: process_cpu_now - from)
