# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "shellwords"
require_relative "helper"

# A terminal in which `top` runs between two looks at the terminal's modes (stty), started by a
# script: an interactive shell would put things right after it.
class Tmux
  attr_reader :folder

  def initialize(*args, columns: 100, lines: 30, env: {}, prefix: [], before: [])
    @folder = Dir.mktmpdir("tmux-", SCRATCH)
    @socket = File.join(@folder, "socket")
    script = File.join(@folder, "script")
    command = [*prefix, BINARY, *args.map(&:to_s)].shelljoin
    File.write(script, <<~SH)
      set -m
      cd #{@folder.shellescape}
      ulimit -c 0
      #{before.join("\n")}
      echo before it
      stty -a >before
      sh -c 'echo $$ >pid; exec "$@"' sh #{env.map { |k, v| "env #{k}=#{v.shellescape}" }.join(" ")} #{command}
      status=$?
      stty -a >after
      while [ -f stopped ]; do rm stopped; echo stopped; fg >/dev/null; status=$?; stty -a >after; done
      echo "ended $status"
      echo $status >status
      exec sleep 1000
    SH
    @columns = columns
    tmux("-f", "/dev/null", "new-session", "-d", "-x", columns.to_s, "-y", lines.to_s, "dash #{script.shellescape}")
  end

  def tmux(*args)
    IO.popen({ "TERM" => "xterm", "LC_ALL" => "C.UTF-8" }, ["tmux", "-u", "-S", @socket, *args], err: File::NULL, &:read)
  end

  def keys(*keys) = tmux("send-keys", *keys)
  def type(text) = tmux("send-keys", "-l", text)
  def screen = tmux("capture-pane", "-p")
  def resize(columns, lines) = tmux("resize-window", "-x", columns.to_s, "-y", lines.to_s)
  def pid = Clock.wait_until(PATIENCE, "top to start") { read("pid")&.to_i&.nonzero? }

  def read(name)
    File.read(File.join(@folder, name))
  rescue Errno::ENOENT
    nil
  end

  # The screen once it is as it should be.
  def wait(what, seconds: PATIENCE)
    last = nil
    Clock.wait_until(seconds, what) do
      last = screen
      last if yield(last)
    end
  rescue RuntimeError => e
    raise "#{e.message}; on the screen:\n#{last}"
  end

  def wait_for(pattern) = wait("#{pattern} on the screen") { |text| text.match?(pattern) }

  # The status with which it ended.
  def status = Clock.wait_until(PATIENCE, "top to end: #{screen}") { read("status")&.strip&.then { |s| s.to_i unless s.empty? } }

  # What the terminal does, as far as programs leave it that way by mistake.
  def flags = tmux("display-message", "-p", '#{alternate_on} #{cursor_flag} #{keypad_cursor_flag} #{keypad_flag} #{mouse_any_flag}').strip

  def finish
    tmux("kill-server")
    Clock.wait_until(PATIENCE, "tmux to end") { !system("tmux", "-S", @socket, "list-sessions", out: File::NULL, err: File::NULL) }
  end
end

# Tests on a terminal.
class TerminalTest < E2E
  def setup
    super
    skip "tmux is not installed" unless command?("tmux")
    @terminals = []
  end

  def teardown
    @terminals&.each(&:finish)
    super
  end

  def top(*args, **options) = Tmux.new("top", *args, **options).tap { |terminal| @terminals << terminal }

  # Nothing is left behind on the terminal, and what stood on it is there again.
  def assert_sane(terminal, after = "after")
    assert_equal terminal.read("before"), terminal.read(after), "modes of the terminal"
    assert_equal "0 1 0 0 0", terminal.flags, "our screen, the cursor, keys, mouse"
    assert_match(/^before it$/, terminal.screen)
  end
end
