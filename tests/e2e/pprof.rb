# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "zlib"

# A reader of pprof files that shares nothing with the profiler. It refuses what a strict reader
# would refuse: ids and string indexes that point nowhere, wrong counts, text that is not UTF-8,
# negative values, a label given twice, equal samples not merged.
class Pprof
  class Invalid < StandardError; end

  Frame = Struct.new(:name, :file, :line, :start_line, :system_name) do
    def to_s = "#{name} #{file}:#{line}"
  end

  Sample = Struct.new(:values, :labels, :stack) do # stack: leaf first
    def cpu = values["cpu-time"] || 0
    def names = stack.map(&:name)
    def frame?(name) = stack.any? { |f| name === f.name }
    def leaf = stack.first&.name
    def root = stack.last&.name
    def pid = labels["pid"]
    def tid = labels["thread id"].to_s[/\A\d+/].to_i
    def thread = labels["thread name"]

    # A type or label that the file has not: nil.
    def ticks = values["cpu-samples"]
    def wall = values["wall-time"]
    def timeline = values["timeline"]
    def state = labels["state"]
    def event = labels["event"]
    def end_ns = labels["end_timestamp_ns"]

    # Each sample is one of these, or of an allocation or the heap.
    def gc? = event == "gc"
    def overhead? = labels.key?("profiler overhead")
    def running? = state == "had cpu" && !gc?
    def wait? = !state.nil? && state != "had cpu"
  end

  attr_reader :types, :samples, :functions, :mappings, :comments, :period, :period_type,
              :time_nanos, :duration_nanos, :default_type, :label_keys

  def self.read(path) = new(File.binread(path))

  def initialize(bytes)
    bytes = Zlib.gunzip(bytes) if bytes.start_with?("\x1f\x8b".b)
    message = fields(bytes)
    @strings = message[6].map { |s| text(s) }
    check(@strings[0] == "", "the string table does not start with the empty string")
    read_head(message)
    read_tables(message)
    @samples = message[2].map { |s| sample(fields(s)) }
    @label_keys = @samples.flat_map { |s| s.labels.keys }.uniq
    check(@samples.uniq { |s| [s.stack.map(&:object_id), s.labels] }.size == @samples.size ||
          @label_keys.include?("end_timestamp_ns"), "equal samples are not merged")
  end

  def sum(type = "cpu-time", &filter)
    (filter ? @samples.select(&filter) : @samples).sum { |s| s.values.fetch(type) }
  end

  # A part of the profile with the same questions to ask.
  def of(pid) = @samples.select { |s| s.pid == pid }

  def names = @functions.values.map { |f| f[:name] }

  private

  def check(condition, why) = condition || raise(Invalid, why)

  def string(index)
    check(index < @strings.size, "string index #{index} out of range")
    @strings[index]
  end

  def text(bytes)
    bytes = bytes.dup.force_encoding(Encoding::UTF_8)
    check(bytes.valid_encoding?, "not UTF-8: #{bytes.inspect}")
    bytes
  end

  def read_head(message)
    types = message[1].map { |t| fields(t) }.map { |t| [string(one(t, 1)), string(one(t, 2))] }
    check(types.any?, "no sample types")
    @types = types.map { |t| t.join("/") }
    @type_names = types.map(&:first)
    @comments = message[13].flat_map { |c| list(c) }.map { |c| string(c) }
    @period = one(message, 12)
    @time_nanos = signed(one(message, 9))
    @duration_nanos = signed(one(message, 10))
    @default_type = string(one(message, 14))
    period = message[11].last ? fields(message[11].last) : {}
    @period_type = [string(one(period, 1)), string(one(period, 2))].join("/")
  end

  def read_tables(message)
    @mappings = by_id(message[3]) do |m|
      { start: one(m, 1), limit: one(m, 2), file: string(one(m, 5)), build_id: string(one(m, 6)) }
    end
    @functions = by_id(message[5]) do |m|
      { name: string(one(m, 2)), system_name: string(one(m, 3)), file: string(one(m, 4)),
        start_line: signed(one(m, 5)) }
    end
    check(@functions.values.uniq.size == @functions.size, "equal functions are not merged")
    @locations = by_id(message[4]) do |m|
      mapping = one(m, 2)
      check(mapping.zero? || @mappings.key?(mapping), "mapping #{mapping} is nowhere")
      m[4].map { |l| frame(fields(l)) }.tap { |l| check(l.any?, "a location without a line") }
    end
  end

  def frame(line)
    function = @functions[one(line, 1)]
    check(function, "function #{one(line, 1)} is nowhere")
    number = signed(one(line, 2))
    check(number >= 0 && function[:start_line] >= 0, "negative line")
    Frame.new(function[:name], function[:file], number, function[:start_line],
              function[:system_name])
  end

  def by_id(messages)
    messages.each_with_object({}) do |bytes, table|
      message = fields(bytes)
      id = one(message, 1)
      check(id.positive? && !table.key?(id), "id #{id} is zero or given twice")
      table[id] = yield message
    end
  end

  def sample(message)
    values = message[2].flat_map { |v| list(v) }.map { |v| signed(v) }
    check(values.size == @types.size, "#{values.size} values for #{@types.size} types")
    check(values.all? { |v| v >= 0 }, "negative value: #{values}")
    stack = message[1].flat_map { |v| list(v) }.flat_map do |id|
      @locations[id] || raise(Invalid, "location #{id} is nowhere")
    end
    labels = message[3].map { |l| label(fields(l)) }
    check(labels.map(&:first).uniq.size == labels.size, "a label given twice: #{labels}")
    Sample.new(@type_names.zip(values).to_h, labels.to_h, stack)
  end

  def label(message)
    key = string(one(message, 1))
    check(!key.empty?, "a label without a key")
    check(!(message.key?(2) && message.key?(3)), "a label both text and number")
    [key, message.key?(3) ? signed(one(message, 3)) : string(one(message, 2))]
  end

  def one(message, field) = (value = message[field]&.last) ? value : 0

  def signed(value) = value >= 1 << 63 ? value - (1 << 64) : value

  # A repeated number is packed or not.
  def list(value)
    return [value] if value.is_a?(Integer)

    numbers = []
    position = 0
    while position < value.bytesize
      number, position = varint(value, position)
      numbers << number
    end
    numbers
  end

  def fields(bytes)
    message = Hash.new { |_, _| [] }
    position = 0
    while position < bytes.bytesize
      key, position = varint(bytes, position)
      check((key >> 3).positive?, "field number 0")
      case key & 7
      when 0 then value, position = varint(bytes, position)
      when 2
        size, position = varint(bytes, position)
        check(position + size <= bytes.bytesize, "truncated field")
        value = bytes.byteslice(position, size)
        position += size
      else raise Invalid, "wire type #{key & 7}"
      end
      message[key >> 3] = [] unless message.key?(key >> 3)
      message[key >> 3] << value
    end
    message
  end

  def varint(bytes, position)
    number = shift = 0
    loop do
      byte = bytes.getbyte(position) or raise Invalid, "truncated number"
      position += 1
      number |= (byte & 0x7f) << shift
      return number, position if byte < 0x80

      shift += 7
      check(shift <= 63, "number too long")
    end
  end
end
