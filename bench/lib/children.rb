# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  # Every process that is started here, ended by its id at the latest with the section. The
  # limit of CPU time ends those whose parent was killed.
  module Children
    CPU_LIMIT_SECONDS = 1200
    @running = {}

    class << self
      def spawn(*command, **options)
        pid = Process.spawn(*command, rlimit_cpu: CPU_LIMIT_SECONDS, close_others: true, **options)
        @running[pid] = true
        pid
      end

      # The status, or nil if it still runs after so many seconds.
      def wait(pid, seconds)
        limit = Bench.now + seconds
        loop do
          _, status = Process.wait2(pid, Process::WNOHANG)
          if status
            @running.delete(pid)
            return status
          end
          return nil if Bench.now > limit

          sleep 0.005
        end
      end

      def kill(pid)
        return unless @running.delete(pid)

        Process.kill(:KILL, pid)
        Process.wait(pid)
      rescue Errno::ESRCH, Errno::ECHILD
        nil
      end

      def end_all = @running.keys.each { |pid| kill(pid) }
    end
  end
end
