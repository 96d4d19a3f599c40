# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "json"

# What each format says of a profile, in one form: sums by [value], [value, thread], and
# [value, function, :self or :total]. Every id has to resolve, every number to be one.
module Readers
  # Made of samples as any format has them: the stack leaf first, of [name, file, line].
  class Sums < Hash
    def initialize = super(0)

    def add(values, thread, stack)
      values.each do |value, number|
        next if number.zero?

        self[[value]] += number
        self[[value, thread]] += number if thread
        self[[value, stack.first, :self]] += number
        stack.uniq.each { |function| self[[value, function, :total]] += number }
      end
    end

    def of(value) = Sums.new.merge(select { |key, _| key[0] == value })
    def without_threads = Sums.new.merge(reject { |key, _| key.size == 2 })
  end

  NONE = ["(no stack)", "", 0].freeze

  module_function

  # What a function is: all of it, or what the block makes of its frame.
  def pprof(profile)
    profile.samples.each_with_object(Sums.new) do |sample, sums|
      stack = sample.stack.map { |f| block_given? ? yield(f) : [f.name, f.file, f.start_line] }
      sums.add(sample.values, [sample.pid, sample.labels["thread id"]], stack)
    end
  end

  def fetch(table, index) = Integer === index && index >= 0 && index < table.size ? table[index] : raise("no #{index}")

  def speedscope(text)
    json = JSON.parse(text)
    frames = json["shared"]["frames"].map { |f| [f.fetch("name"), f["file"] || "", f["line"] || 0] }
    raise "no such profile" unless json["profiles"][json["activeProfileIndex"]]

    json["profiles"].each_with_object(Sums.new) do |profile, sums|
      raise "samples and weights" unless profile["samples"].size == profile["weights"].size
      raise "end" unless profile["endValue"] - profile["startValue"] == profile["weights"].sum

      profile["samples"].zip(profile["weights"]) do |sample, weight|
        sums.add({ profile["name"] => weight }, nil, sample.reverse.map { |i| fetch(frames, i) })
      end
    end
  end

  def columns(table)
    table.each { |name, cells| raise "#{name}: #{cells.size}" if cells.is_a?(Array) && cells.size != table["length"] }
  end

  # By thread: pid and name, what the file has of its id.
  def firefox(text, value)
    json = JSON.parse(text)
    shared = json["shared"]
    %w[sources funcTable frameTable stackTable resourceTable nativeSymbols].each { |t| columns(shared[t]) }
    stacks = firefox_stacks(shared)
    json["threads"].each_with_object(Sums.new) do |thread, sums|
      samples = columns(thread["samples"])
      raise "times" unless samples["time"] == samples["time"].sort

      factor = samples["weightType"] == "tracing-ms" ? 1e6 : 1
      samples["stack"].zip(samples["weight"]) do |stack, weight|
        sums.add({ value => (weight * factor).round }, [thread["pid"].to_i, thread["name"]], fetch(stacks, stack))
      end
      firefox_markers(json, thread)
    end
  end

  def firefox_stacks(shared)
    strings = shared["stringArray"]
    functions = Array.new(shared["funcTable"]["length"]) do |i|
      table = shared["funcTable"]
      source = table["source"][i]
      file = source ? fetch(strings, fetch(shared["sources"]["filename"], source)) : ""
      [fetch(strings, table["name"][i]), file, table["lineNumber"][i] || 0]
    end
    frames = shared["frameTable"]["func"].map { |f| fetch(functions, f) }
    shared["stackTable"]["frame"].zip(shared["stackTable"]["prefix"]).each_with_object([]) do |(frame, prefix), stacks|
      stacks << [fetch(frames, frame), *(prefix ? fetch(stacks, prefix) : [])]
    end
  end

  def firefox_markers(json, thread)
    markers = columns(thread["markers"])
    strings = json["shared"]["stringArray"]
    schemas = json["meta"]["markerSchema"].to_h { |s| [s["name"], s["fields"].map { |f| f["key"] }] }
    Array.new(markers["length"]) do |i|
      data = markers["data"][i].dup
      fields = schemas.fetch(data.delete("type"))
      data.each_key { |key| raise "no field #{key}" unless fields.include?(key) }
      fetch(json["meta"]["categories"], markers["category"][i])
      { name: fetch(strings, markers["name"][i]), start: markers["startTime"][i], end: markers["endTime"][i],
        data: data.transform_values { |v| fetch(strings, v) } }
    end
  end

  # Slices lie within slices, and samples within those of their stack.
  def chrome(text)
    open = Hash.new { |hash, key| hash[key] = [] }
    names = {}
    last = Hash.new(0)
    sums = JSON.parse(text)["traceEvents"].each_with_object(Sums.new) do |event, all|
      thread = [event["pid"], event["tid"]]
      if event["ph"] == "M"
        names[thread] = event["args"]["thread id"]
        next
      end
      raise "not in order: #{event}" if event["ts"] < last[thread]

      last[thread] = event["ts"]
      if event["ph"] == "E"
        open[thread].pop or raise "nothing is open: #{event}"
      else
        chrome_begin(event, open[thread], all, [event["pid"], names.fetch(thread)])
      end
    end
    raise "still open" if open.values.any?(&:any?)

    sums
  end

  def chrome_begin(event, open, sums, thread)
    arguments = event["args"]
    if event["cat"] == "sample"
      values = arguments.slice("cpu-samples", "cpu-time", "wall-time", "timeline")
      sums.add(values, thread, open.empty? ? [NONE] : open.reverse)
    end
    open << [event["name"], arguments["file"], arguments["line"] || 0]
  end

  def folded(text, value)
    text.force_encoding("UTF-8").lines(chomp: true).each_with_object(Sums.new) do |line, sums|
      stack, number = line.match(/\A(.*) (-?\d+)\z/).captures
      sums.add({ value => number.to_i }, nil, stack.split(";").reverse.map { |name| [unescape(name)] })
    end
  end

  def unescape(name)
    name.gsub(/\\(?:x(\h\h)|u(\h{4})|(.))/) do
      code = Regexp.last_match(1) || Regexp.last_match(2)
      code ? [code.hex].pack("U") : { "n" => "\n", "t" => "\t" }.fetch(Regexp.last_match(3), Regexp.last_match(3))
    end
  end

  def json(text)
    json = JSON.parse(text)
    sums = Sums.new
    json["total"].each { |value, sum| sums[[value]] += sum }
    json["functions"].each do |function|
      key = function.values_at("name", "file", "line")
      %w[self total].each { |kind| function[kind].each { |value, sum| sums[[value, key, kind.to_sym]] += sum } }
    end
    sums.reject { |_, sum| sum.zero? }
  end
end
