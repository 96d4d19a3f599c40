# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Threads with names of all kinds: thread_names.rb FOLDER
# FOLDER is where a stand-in of a library is written that wraps every Thread.new.
require_relative "common"
require "fileutils"

TRUTH = {}
PARKED = Queue.new

def note(key)
  TRUTH[key] = { tid: Thread.current.native_thread_id }
  burn(0.05)
  PARKED.pop
end

NAMES = {
  "long" => "a-thread-name-longer-than-fifteen-bytes", "accents" => "\u00e9" * 9,
  "separators" => "a;b\tc\n\"d\"", "empty" => "", "invalid" => "caf\xE9",
  "endless" => "\u00e9" * 400,
}.freeze

def named_by_symbol = note("symbol")

class String
  def start_here = note("proc")
end

ready
threads = NAMES.map do |key, name|
  Thread.new do
    Thread.current.name = name
    note(key)
  end
end
threads << Thread.new { note("unnamed") }
TRUTH_LINE = __LINE__ - 1
threads << Thread.new(&method(:named_by_symbol))
threads << Thread.new("x", &:start_here)
file = File.join(ARGV.fetch(0), "lib/logging/diagnostic_context.rb")
FileUtils.mkdir_p(File.dirname(file))
File.write(file, "def wrapped = Thread.new { note(\"wrapped\") }\n")
require file
threads << wrapped
threads << Thread.new do
  Thread.current.name = "before"
  burn(0.1)
  Thread.current.name = "after"
  note("renamed")
end
burn(0.05)
sleep 0.01 until PARKED.num_waiting == threads.size
TRUTH["main"] = { tid: Process.pid }
TRUTH["unnamed"]["line"] = TRUTH_LINE
done(TRUTH)
