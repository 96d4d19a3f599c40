# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "zlib"

# Makes pprof files that no recording of a few seconds would give: very large, very deep, or with
# names that no Ruby has.
class PprofWriter
  Frame = Struct.new(:name, :file, :start_line, :line)

  def initialize(types = { "cpu-samples" => "count", "cpu-time" => "nanoseconds" })
    @strings = { "" => 0 }
    @functions = {}
    @locations = {}
    @ids = {}.compare_by_identity # of frames: their location's id, as it is written
    @samples = []
    @comments = []
    @types = types.map { |type, unit| message(1 => string(type), 2 => string(unit)) }
  end

  # So many stacks, no two of them equal, as of a large web application: 40 threads of depth 30 to
  # 100, neighbours share most of their callers.
  def self.fill(writer, count, random: Random.new(1))
    frames = Array.new(2_000) do |i|
      Frame.new("App::Part#{i % 90}::Service#{i % 37}#method_#{i}", "/app/lib/part#{i % 90}/service#{i % 37}.rb", i, i + 1)
    end
    stack = []
    count.times do |i|
      stack = stack.first([stack.size - random.rand(12) - 1, 28].max) + Array.new(random.rand(12)) { frames.sample(random: random) }
      stack += frames.sample(28 - stack.size, random: random) if stack.size < 28
      leaves = [frames[i / 2_000], frames[i % 2_000]]
      writer.add([*stack.first(98), *leaves].reverse, { "thread name" => "worker #{i % 40}" }, [1, 10_101_010 + i])
    end
  end

  def comment(text) = @comments << string(text)

  # frames: leaf first. labels: texts or numbers by key. values: one a type.
  def add(frames, labels, values)
    sample = field(1, frames.map { |frame| @ids[frame] ||= varint(location(frame)) }.join) + packed(2, values)
    labels.each do |key, value|
      sample << field(3, message(1 => string(key), (value.is_a?(String) ? 2 : 3) => value.is_a?(String) ? string(value) : value))
    end
    @samples << sample
  end

  def write(path)
    bytes = +"".b
    @types.each { |type| bytes << field(1, type) }
    @samples.each { |sample| bytes << field(2, sample) }
    @locations.each_value { |_, text| bytes << field(4, text) }
    @functions.each_value { |_, text| bytes << field(5, text) }
    @strings.each_key { |text| bytes << field(6, text.b) }
    bytes << message(9 => 1_700_000_000 * 10**9, 10 => 60 * 10**9, 12 => 10_101_010)
    bytes << field(11, message(1 => string("cpu-time"), 2 => string("nanoseconds"))) if @strings.key?("cpu-time")
    bytes << packed(13, @comments)
    Zlib::GzipWriter.open(path, Zlib::BEST_SPEED) { |gzip| gzip.write(bytes) }
    path
  end

  private

  def string(text) = @strings[text] ||= @strings.size

  def location(frame)
    @locations[frame] ||= begin
      id = @locations.size + 1
      line = message(1 => function(frame), 2 => frame.line || 0)
      [id, message(1 => id) + field(4, line)]
    end
    @locations[frame].first
  end

  def function(frame)
    key = [frame.name, frame.file, frame.start_line]
    @functions[key] ||= begin
      id = @functions.size + 1
      [id, message(1 => id, 2 => string(frame.name), 4 => string(frame.file), 5 => frame.start_line || 0)]
    end
    @functions[key].first
  end

  def varint(number)
    number &= (1 << 64) - 1
    bytes = []
    while number > 0x7f
      bytes << (number & 0x7f | 0x80)
      number >>= 7
    end
    (bytes << number).pack("C*")
  end

  def message(numbers) = numbers.map { |key, value| varint(key << 3) + varint(value) }.join
  def field(key, bytes) = varint(key << 3 | 2) + varint(bytes.bytesize) + bytes
  def packed(key, numbers) = numbers.empty? ? +"".b : field(key, numbers.map { |n| varint(n) }.join)
end
