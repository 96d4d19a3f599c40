# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Starts a program that becomes Ruby: starts_late.rb COMMAND...
require_relative "plain"

ready
truth = "#{ENV.fetch("TRUTH")}.child"
pid = Process.spawn({ "TRUTH" => truth }, *ARGV, in: (input, writer = IO.pipe)[0],
                    out: (output, into = IO.pipe)[1])
[input, into].each(&:close)
output.gets
writer.puts("go")
output.gets
done(child: pid, of_child: JSON.parse(File.read(truth)))
writer.close
Process.wait(pid)
