# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Stand-ins of a framework's frames, for what depends on the VM: whether the class in a frame's name
# is the receiver's; in the words of Ruby 2.7. Each action runs in a thread of its own.
require_relative "plain"

module AbstractController
  class Base
    def process_action(name)
      send(name)
    end
  end
end

class Parent < AbstractController::Base
  def inherited_action
    work
  end

  def overridden_action
    work
  end

  def work
    loop do
      burn(0.002)
      sleep 0.01
    end
  end
end

module Included
  def included_action
    work
  end
end

module Prepended
  def prepended_action
    super
  end
end

# Where a class includes or prepends modules, these stand between it and its parent.
class PlainChild < Parent
  def own_action
    work
  end
end

class Child < Parent
  include Included
  prepend Prepended

  def prepended_action
    work
  end

  def overridden_action
    super
  end

  define_method(:block_action) { work }
end

class LaterParent < AbstractController::Base
  def later_action
    loop do
      burn(0.002)
      sleep 0.01
    end
  end
end

class WithSingleton < Parent
  def singleton_action
    work
  end
end

class OnlyIncluding < Parent
  include Included
end

# One action for objects of many classes, some of which come and go: each has a marker of its own.
class Shared < AbstractController::Base
  def shared_action
    marker
  end

  def mark
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.004
    nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
    sleep 0.002
  end
end

%w[One Two].each do |name|
  eval("class #{name} < Shared\n def marker\n mark\n end\nend", nil, __FILE__, __LINE__)
end

# Classes of many names, where others were before.
def passing(number)
  name = "Passing#{number}"
  Object.class_eval("class #{name} < Shared\n def marker\n mark\n end\nend", __FILE__, __LINE__)
  Object.const_get(name).new.process_action("shared_action")
  Object.send(:remove_const, name)
end

def share
  (0..Float::INFINITY).each do |number|
    One.new.process_action("shared_action")
    Two.new.tap(&:singleton_class).process_action("shared_action")
    passing(number)
    GC.start if (number % 3).zero?
    GC.compact if (number % 20).zero? && GC.respond_to?(:compact)
  end
end

# The endpoint of each.
ACTIONS = {
  "own_action" => [PlainChild.new, "PlainChild#own_action"],
  "inherited_action" => [Child.new, "Child#inherited_action"],
  "included_action" => [OnlyIncluding.new, "OnlyIncluding#included_action"],
  "prepended_action" => [Child.new, "Child#prepended_action"],
  "overridden_action" => [Child.new, "Child#overridden_action"],
  "block_action" => [Child.new, "Child#block_action"],
  "singleton_action" => [WithSingleton.new.tap(&:singleton_class), "WithSingleton#singleton_action"],
}.freeze

ready
threads = ACTIONS.map do |name, (object, _)|
  Thread.new { object.process_action(name) }.tap { |thread| thread.name = name }
end
later = Thread.new { LaterParent.new.process_action("later_action") }
later.name = "later_action"
shared = Thread.new { share }
shared.name = "shared_action"
sleep 1
tell({})
$stdout.puts("settled")
$stdout.flush
$stdin.gets
Object.class_eval("class LaterChild < LaterParent; end", __FILE__, __LINE__)
sleep 1
done(ACTIONS.transform_values(&:last).merge(threads: threads.size))
