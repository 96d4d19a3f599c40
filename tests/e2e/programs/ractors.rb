# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Two ractors and two threads, each in a method of its own.
require_relative "common"

def ractor_a = burn(0.4)
def ractor_b = burn(0.4)
def thread_c = burn(0.4)
def thread_d = burn(0.4)

ready
a = Ractor.new { { tid: Thread.current.native_thread_id, cpu_ns: ractor_a, line: __LINE__ } }
b = Ractor.new { { tid: Thread.current.native_thread_id, cpu_ns: ractor_b, line: __LINE__ } }
c = Thread.new { { tid: Thread.current.native_thread_id, cpu_ns: thread_c, line: __LINE__ } }
d = Thread.new { { tid: Thread.current.native_thread_id, cpu_ns: thread_d, line: __LINE__ } }
done(ractor_a: a.take, ractor_b: b.take, thread_c: c.value, thread_d: d.value)
