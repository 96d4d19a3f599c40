# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# read_profile.rb ROOT FILE TURNS: what the gate of this project's own Ruby runs, the reader of
# profiles that the tests have, of the tree at ROOT.
root, file, turns = ARGV
require File.expand_path("tests/e2e/pprof", root)

bytes = File.binread(file)
Integer(turns).times { Pprof.new(bytes) }
File.write(ENV["RBPROF_WORK"], turns) if ENV["RBPROF_WORK"]
