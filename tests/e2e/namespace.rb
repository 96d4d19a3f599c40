# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# A pid namespace with a /proc of its own, in which programs and profilers are started.
class Namespace
  def initialize
    @holder = Children.spawn("unshare", "--pid", "--fork", "--mount-proc", "sleep", "600", err: File::NULL)
    @first = Rubies.child(@holder)
    # By then its /proc is there.
    Clock.wait_until(10, "the namespace") { File.read("/proc/#{@first}/comm") == "sleep\n" }
  end

  # The beginning of a command that runs in it, as the only child of what this starts.
  def enter = ["nsenter", "--target", @first.to_s, "--pid", "--mount", "--"]

  # Its processes: their ids on the host by those inside.
  def pids
    name = File.readlink("/proc/#{@first}/ns/pid")
    Dir.children("/proc").grep(/\A\d+\z/).filter_map do |pid|
      [Namespace.ids(pid)[1], pid.to_i] if File.readlink("/proc/#{pid}/ns/pid") == name
    rescue SystemCallError
      nil
    end.to_h
  end

  # On the host, then inwards.
  def self.ids(pid, tid = pid) = File.read("/proc/#{pid}/task/#{tid}/status")[/^NSpid:(.*)/, 1].split.map(&:to_i)

  def self.inner(pid, tid = pid) = ids(pid, tid)[1]

  # With it all of its processes.
  def finish = Children.kill(@holder)
end

# A run of the profiler in such a namespace.
class ProfilerInside < Profiler
  def self.in(namespace, *args, **options) = run(*args, prefix: namespace.enter, **options)

  def self.start_in(namespace, *args) = start(*args, prefix: namespace.enter)

  def process = @process ||= Rubies.child(pid)
end
