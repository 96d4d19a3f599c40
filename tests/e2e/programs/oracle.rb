# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Each entry of SHAPES ends in a method mark_N that asks Ruby itself for its callers, then works:
# what stands under mark_N in the profile must be just that.
require_relative "common"

TRUTH = {}

# Defines mark_N for the next shape and returns its name.
def next_mark
  name = "mark_#{TRUTH.size}"
  TRUTH[name] = nil
  Object.class_eval <<~RUBY, "mark.rb", 1
    def #{name}
      TRUTH["#{name}"] ||= caller_locations(1).map { |l| [l.absolute_path || l.path, l.lineno, l.label, l.base_label] }
      burn(0.03)
    end
  RUBY
  name
end

class Base
  def over(mark) = send(mark)
  def self.single(mark) = new.over(mark)
  def method_missing(name, *) = send(name.to_s.delete_prefix("via_"))
  def respond_to_missing?(*) = true
end

class Derived < Base
  def over(mark)
    super
  end
end

module Wide
  def self.yields = yield
  def wide(mark)
    [mark].each do |m|
      1.times do
        send(m)
      end
    end
  end
end
class Derived
  include Wide
end

module Refined
  refine Integer do
    def refined(mark) = Base.new.send(mark)
  end
end
using Refined

def with_rescue(mark)
  raise ArgumentError
rescue ArgumentError
  send(mark)
end

def with_ensure(mark)
  1 + 1
ensure
  send(mark)
end

def with_default(mark, value = send(mark)) = value

def catching(mark)
  catch(:out) { send(mark) }
end

Pair = Struct.new(:a, :b)
BLOCK = ->(mark) { send(mark) }

SHAPES = [
  ->(m) { Base.new.over(m) },
  ->(m) { Base.single(m) },
  ->(m) { Derived.new.over(m) },
  ->(m) { Derived.new.wide(m) },
  ->(m) { Derived.new.public_send("via_#{m}") },
  ->(m) { Wide.yields { send(m) } },
  ->(m) { 1.refined(m) },
  ->(m) { with_rescue(m) },
  ->(m) { with_ensure(m) },
  ->(m) { with_default(m) },
  ->(m) { catching(m) },
  ->(m) { BLOCK.call(m) },
  ->(m) { [3, 2].sort_by { |x| send(m) if x == 3; x } },
  ->(m) { { a: 1 }.each_pair.map { |_, _| send(m) } },
  ->(m) { (1..2).each_slice(2) { send(m) } },
  ->(m) { Pair.new(1, 2).each { |x| send(m) if x == 1 } },
  ->(m) { 1.tap { send(m) } },
  ->(m) { Fiber.new { send(m) }.resume },
  ->(m) { Enumerator.new { |y| y << send(m) }.next },
  ->(m) { (1..Float::INFINITY).lazy.map { |x| send(m); x }.first(1) },
  ->(m) { Object.new.instance_exec { send(m) } },
  ->(m) { Class.new { send(m) } },
  ->(m) { eval("send(m)", binding, "inside eval.rb", 40) },
  ->(m) { Base.new.method(:over).to_proc.call(m) },
  ->(m) { Thread.new { send(m) }.join },
  ->(m) { [m].each(&method(:send)) },
  ->(m) { "x".gsub(/x/) { send(m); "y" } },
  ->(m) { loop { send(m); break } },
  ->(m) { $oracle_mark = m; load(File.join(__dir__, "oracle_loaded.rb")) },
].freeze

ready
SHAPES.each { |shape| shape.call(next_mark) }
done(TRUTH)
