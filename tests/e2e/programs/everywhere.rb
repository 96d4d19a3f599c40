# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Runs on every Ruby since 2.7: methods of every shape, threads, a deep stack, fibers, ractors.
require_relative "plain"

def work
  burn(0.02)
end

class Shape
  def plain
    work
  end

  def self.single
    work
  end

  def <=>(_other)
    work
  end

  def value=(_value)
    work
  end

  def [](_key)
    work
  end

  def -@
    work
  end

  def ask?
    work
  end

  class << self
    def in_singleton_class
      work
    end
  end

  class Inner
    def nested
      work
    end
  end

  def with_rescue
    raise ArgumentError
  rescue ArgumentError
    work
  end

  def with_ensure
    1 + 1
  ensure
    work
  end

  def with_block
    yield
  end
end

module Foo
  module Bar
    def self.baz
      work
    end
  end
end

module Mixed
  def self.of_module
    work
  end

  def mixed_in
    work
  end
end

module Prepended
  def plain_prepended
    work
  end
end

class Shape
  include Mixed
  prepend Prepended
end

class Heir < Shape
  def plain
    super
  end
end

module Refining
  refine(String) do
    def refined
      work
    end
  end
end
using Refining

class Missing
  def method_missing(_name, *)
    work
  end

  def respond_to_missing?(*)
    true
  end
end

NAMELESS = [Class.new { def of_nameless; work; end }, Module.new { def self.of_nameless_module; work; end }]
LONE = Object.new
def LONE.only_mine
  work
end
Shape.send(:define_method, :by_block) { work }
Shape.send(:define_method, "a;b\nc \u00e9".to_sym) { work }
Shape.class_eval("def evaluated; work; end", "odd dir/(x);\n\"q\".rb", 7)
eval("def bare_eval; work; end")
Pair = Struct.new(:left, :right)

SHAPES = [
  -> { Shape.new.plain }, -> { Shape.single }, -> { Shape.new <=> 1 }, -> { Shape.new.value = 1 },
  -> { Shape.new[1] }, -> { -Shape.new }, -> { Shape.new.ask? }, -> { Shape.in_singleton_class },
  -> { Shape::Inner.new.nested }, -> { Shape.new.with_rescue }, -> { Shape.new.with_ensure },
  -> { Shape.new.with_block { work } }, -> { Foo::Bar.baz }, -> { Mixed.of_module }, -> { Shape.new.mixed_in },
  -> { Shape.new.plain_prepended }, -> { Heir.new.plain }, -> { Heir.single }, -> { "".refined },
  -> { Missing.new.anything }, -> { NAMELESS[0].new.of_nameless }, -> { NAMELESS[1].of_nameless_module },
  -> { LONE.only_mine }, -> { Shape.new.by_block }, -> { Shape.new.send("a;b\nc \u00e9") },
  -> { Shape.new.evaluated }, -> { bare_eval }, -> { [1].each { work } }, -> { 1.times { work } },
  -> { loop { work; break } }, -> { [2, 1].sort_by { |x| work if x == 1; x } }, -> { [1].map { work } },
  -> { { a: 1 }.each { work } }, -> { (1..1).each { work } }, -> { 1.tap { work } },
  -> { Pair.new(1, 2).each { |x| work if x == 1 } }, -> { Object.new.instance_exec { work } },
  -> { catch(:out) { work } }, -> { Class.new { work } }, -> { "x".gsub(/x/) { work; "y" } },
  -> { [1].each_with_index { work } }, -> { Fiber.new { work }.resume }
].freeze

def down(levels)
  levels > 1 ? down(levels - 1) : deep_leaf
end

def deep_leaf
  $depth = caller(0).size
  burn(0.08)
end

FIBERS_NS = { left: 0, right: 0 }

def left_leaf
  FIBERS_NS[:left] += burn(0.002)
end

def right_leaf
  FIBERS_NS[:right] += burn(0.002)
end

def left_body
  loop { left_leaf; Fiber.yield }
end

def right_body
  loop { right_leaf; Fiber.yield }
end

# The VM uses native threads again: what counts is the native thread's clock.
def note(results, kind)
  results << { kind: kind, tid: tid_now, cpu_ns: cpu_now }
end

def named_work
  burn(0.2)
end

def nameless_work
  burn(0.1)
end

def threads
  results = Queue.new
  gate = Queue.new
  list = [
    Thread.new do
      Thread.current.name = "a name longer than fifteen bytes"
      named_work
      note(results, "named")
      gate.pop
    end,
    Thread.new { nameless_work; note(results, "nameless"); gate.pop }
  ]
  sleep 0.01 until results.size == list.size
  [list, gate, Array.new(results.size) { results.pop }]
end
NAMELESS_LINE = __LINE__ - 5

def ractor_work
  burn(0.15)
end

# Each says at its end how much CPU its native thread used.
def ractors
  return [] unless defined?(Ractor)

  Array.new(2) do
    Ractor.new do
      spent = ractor_work
      { tid: File.readlink("/proc/thread-self")[/\d+\z/].to_i, cpu_ns: spent }
    end
  end.map { |r| r.respond_to?(:value) ? r.value : r.take }
end

from, process_from = ready
SHAPES.each(&:call)
down(1_500)
left = Fiber.new { left_body }
right = Fiber.new { right_body }
40.times { left.resume; right.resume }
parked, _gate, noted = threads
noted << { kind: "main", tid: Process.pid, cpu_ns: cpu_now - from }
Warning[:experimental] = false if Warning.respond_to?(:[]=)
truth = { threads: noted, process_ns: 0, ractors: ractors, depth: $depth, fibers_ns: FIBERS_NS, nameless_line: NAMELESS_LINE,
          version: RUBY_VERSION, parked: parked.size }
truth[:threads][-1][:cpu_ns] = cpu_now - from
truth[:process_ns] = process_cpu_now - process_from
done(truth)
