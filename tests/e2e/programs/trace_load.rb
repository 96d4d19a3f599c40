# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Asks a server on this machine for its pages: trace_load.rb PORT REQUESTS, from 8 threads.
require "socket"

port, requests = ARGV.map(&:to_i)
PATHS = %w[/cheap /middle /dear].freeze
lock = Mutex.new
Array.new(8) do
  Thread.new do
    while (left = lock.synchronize { requests -= 1 }) >= 0
      path = PATHS[left % 3]
      TCPSocket.open("127.0.0.1", port) do |socket|
        socket.write("GET #{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        raise "no answer" unless socket.read.start_with?("HTTP/1.1 200")
      end
    end
  end
end.each(&:join)
