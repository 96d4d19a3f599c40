# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "lib/bench"

SECTIONS = %w[kernel target switch waits self others start accuracy close gc overhead trace names file formats
              html gate].freeze

def usage(out, status)
  out.puts("usage: bench/run [--quick] [NAME...]", "names: #{SECTIONS.join(" ")}")
  exit status
end

arguments = ARGV.dup
usage($stdout, 0) if arguments.include?("--help")
QUICK = !arguments.delete("--quick").nil?
wrong = arguments - SECTIONS
if wrong.any?
  warn "error: no such section: #{wrong.join(", ")}"
  usage($stderr, 2)
end

abort "error: measuring needs root: sudo make bench" unless Process.uid.zero?
abort "error: #{Bench::BINARY} is not built: make" unless File.executable?(Bench::BINARY)

%w[INT TERM].each { |signal| trap(signal) { exit 130 } }
$stdout.sync = true
Bench::Machine.print(QUICK)
begin
  (arguments.empty? ? SECTIONS : SECTIONS & arguments).each do |name|
    require_relative "sections/#{name}"
    begin
      Bench.const_get("#{name.capitalize}Section").new(QUICK).run
    rescue Bench::Unable, SystemCallError => e
      Bench::Table.note("cannot be measured here: #{e.message}")
    ensure
      Bench::Children.end_all
    end
  end
  Bench::Table.summary
ensure
  Bench::Children.end_all
  Bench.clean
end
