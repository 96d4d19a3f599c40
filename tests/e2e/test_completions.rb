# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "shellwords"
require_relative "helper"

# What shells complete is what --help lists, of every command.
class TestCompletions < E2E
  FOLDER = File.join(ROOT, ".output/completions")
  FILES = { "bash" => "bash/rbprof-bpf", "zsh" => "zsh/_rbprof-bpf", "fish" => "fish/rbprof-bpf.fish" }.freeze

  def setup
    raise "#{BINARY} is not built: make" unless File.executable?(BINARY)
  end

  def help(*words) = IO.popen([BINARY, *words, "--help"], &:read)
  def commands = help.scan(/^  ([a-z]+) {2,}/).flatten
  def options(command) = help(command).scan(/--[a-z][a-z-]*/).uniq - ["--"]

  def file(shell)
    skip "#{shell} is not installed" unless command?(shell)
    File.join(FOLDER, FILES.fetch(shell))
  end

  def bash(*words)
    script = <<~BASH
      source #{file("bash").shellescape}
      COMP_WORDS=(rbprof-bpf "$@"); COMP_CWORD=$#
      _rbprof_bpf
      printf '%s\\n' "${COMPREPLY[@]}"
    BASH
    IO.popen(["bash", "--norc", "-c", script, "bash", *words], &:read).split("\n")
  end

  def fish(*words)
    line = ["rbprof-bpf", *words].join(" ")
    script = "source #{file("fish").shellescape}; complete -C #{line.shellescape}"
    IO.popen({ "HOME" => SCRATCH }, ["fish", "--no-config", "-c", script], &:read).lines.map { |l| l.split("\t").first.chomp }
  end

  def test_syntax
    FILES.each_key { |shell| assert system(shell, "-n", file(shell)), shell }
  end

  def test_bash
    assert_equal commands.sort, (bash("") - %w[--help --version]).sort
    assert_includes bash("to"), "top"
    commands.each { |c| assert_equal options(c).sort, bash(c, "--").map { |o| o.delete("=") }.sort, c }
    assert_equal %w[wall-time], bash("record", "--value", "wall")
    assert_includes bash("report", "-f", ""), "folded"
    assert_includes bash("top", "-p", Process.pid.to_s), Process.pid.to_s
    assert_includes bash("record", "--", "rub"), "ruby"
    assert_empty bash("record", "--comm", "")
  end

  def test_fish
    assert_equal commands.sort, fish("''").sort & commands
    commands.each { |c| assert_equal options(c).sort, fish(c, "--").map { |o| o.delete("=") }.sort & options(c), c }
    assert_equal %w[wall-time], fish("record", "--value", "wall")
  end

  # Its completion works on a line that is being edited, so there are the words that it is made of.
  def test_zsh
    text = File.read(file("zsh"))
    commands.each do |command|
      part = text[/^\t#{command}\)\n(.*?)^\t\t;;$/m, 1] or flunk("nothing of #{command}")
      assert_equal options(command).sort, part.scan(/'\*(--[a-z-]+?)(?:=-?)?\[/).flatten.sort, command
    end
  end

  def test_install
    root = folder("install")
    assert system("make", "-s", "-C", ROOT, "install", "DESTDIR=#{root}", "PREFIX=/usr", "SHELL=/bin/sh", out: File::NULL)
    share = File.join(root, "usr/share")
    assert File.executable?(File.join(root, "usr/bin/rbprof-bpf"))
    commands.each { |c| assert_path_exists File.join(share, "man/man8/rbprof-bpf-#{c}.8") }
    %w[bash-completion/completions/rbprof-bpf zsh/site-functions/_rbprof-bpf fish/vendor_completions.d/rbprof-bpf.fish].each do |path|
      refute_empty File.read(File.join(share, path)), path
    end
  end

  def test_help_fits_80_columns
    [[], *commands.map { |c| [c] }].each do |words|
      assert_empty help(*words).lines.map(&:chomp).select { |line| line.size > 80 }, words.inspect
    end
  end
end
