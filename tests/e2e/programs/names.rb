# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Methods of every shape; each calls work, which burns 30 ms.
require_relative "common"

LONGEST = [0]

def work
  LONGEST[0] = [LONGEST[0], burn(0.03)].max
end

class Shape
  def plain = work
  def self.single = work
  def <=>(_other) = work
  def value=(_value)
    work
  end
  def [](_key) = work
  def -@ = work
  def ask? = work
  def do! = work

  class << self
    def in_singleton_class = work
  end

  class Inner
    def nested = work
  end
end

module Foo
  module Bar
    def self.baz = work
  end
end

module Mixed
  def self.of_module = work
  def mixed_in = work
end

module Prepended
  def plain_prepended = work
end

class Shape
  include Mixed
  prepend Prepended
end

class Heir < Shape
end

module Refining
  refine(String) { def refined = work }
end
using Refining

NAMELESS = [Class.new { def of_nameless = work }, Module.new { def self.of_nameless_module = work }]
NAMED_LATER = Class.new { def named_later = work }
LONE = Object.new
def LONE.only_mine = work

Shape.define_method(:by_block) { work }
Shape.define_method("a;b\nc \u00e9".to_sym) { work }
Shape.define_method("\xE9\xFF".b.to_sym) { work }
Shape.define_method("</script><b>") { work }
Shape.define_method("x" * 1_500) { work }
Shape.class_eval("def evaluated = work", "odd dir/(x);\n\"q\".rb", 7)
eval("def bare_eval = work")
alias_target = Class.new { def original = work }
ALIASED = alias_target
ALIASED.alias_method(:aliased, :original)

class Missing
  def method_missing(_name, *) = work
  def respond_to_missing?(*) = true
end

ready
shape = Shape.new
shape.plain
Shape.single
shape <=> 1
shape.value = 1
shape[1]
-shape
shape.ask?
shape.do!
Shape.in_singleton_class
Shape::Inner.new.nested
Foo::Bar.baz
Mixed.of_module
shape.mixed_in
shape.plain_prepended
Heir.new.plain
Heir.single
"".refined
NAMELESS[0].new.of_nameless
NAMELESS[1].of_nameless_module
NAMED_LATER.new.named_later
LONE.only_mine
shape.by_block
shape.send("a;b\nc \u00e9")
shape.send("\xE9\xFF".b.to_sym)
shape.send("</script><b>")
shape.send("x" * 1_500)
shape.evaluated
bare_eval
ALIASED.new.aliased
Missing.new.anything
[1].each { work }
shape.instance_exec { work }
class Shape
  work
  class << self
    work
  end
end
module Foo
  work
end
done(longest_ns: LONGEST[0])
