# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Six threads of one second, each of another kind, which know how long they lived (C94).
require_relative "plain"

def spin(seconds)
  limit = mono_now + (seconds * 1e9).to_i
  nil while mono_now < limit
end

lock = Mutex.new
queue = Queue.new
reader, writer = IO.pipe
works = {
  "sleep" => -> { sleep 1 }, "pop" => -> { queue.pop }, "lock" => -> { lock.synchronize {} },
  "read" => -> { reader.read(1) }, "select" => -> { IO.select([reader], nil, nil, 1) }, "spin" => -> { spin(1) }
}
ready
lock.lock
threads = works.map do |name, work|
  Thread.new do
    from = mono_now
    Thread.current.name = name
    work.call
    [name, { tid: tid_now, life_ns: mono_now - from }]
  end
end
sleep 1
queue << 1
lock.unlock
writer << "xx"
done(threads.map(&:value).to_h)
