# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "tmux"

# The table of `top` as text: what stands above it, and its rows by name.
class TopTable
  attr_reader :text, :rows

  ROW = /^\s*(?<self>[\d.]+)% +(?:(?<total>[\d.]+)% +)?(?<time>[\d.]+(?: [mun]?s)?)  (?<name>.+?)(?:\s{2,}(?<place>.*?))?\s*$/

  def initialize(text)
    @text = text
    @rows = text.lines.filter_map { |line| ROW.match(line) }.to_h { |row| [row[:name], row] }
  end

  def shown = text[/^(?:cpu|wall|gc|samples) by .*/] || ""
  def window = shown[/last ([\d.]+) s/, 1].to_f
  def sum = TopTable.seconds(shown[/last [\d.]+ s: ([\d.]+(?: \w+)?)/, 1])
  def self_of(name) = rows.fetch(name)[:self].to_f / 100
  def total(name) = rows.fetch(name)[:total].to_f / 100

  def self.seconds(text)
    number, unit = text.split
    number.to_f * { nil => 1, "s" => 1, "ms" => 1e-3, "us" => 1e-6, "ns" => 1e-9 }.fetch(unit)
  end
end

# The live view on a terminal.
class TestTop < TerminalTest
  def table(terminal) = TopTable.new(terminal.screen)

  def split = Program.new("split.rb", 1000).tap(&:go)

  def test_a_program_that_splits_its_time_is_shown_so
    program = split
    terminal = top("-p", program.pid, "-F", 499)
    terminal.wait_for(/^cpu by method, last [4-9]\.\d s: .*\n.*self%.*\n(?:.*\n)*.*Object#seven_parts/)
    seen = table(terminal)
    ticks = seen.sum * 499
    points = 100 * 5 * Math.sqrt(0.7 * 0.3 / ticks) + 2
    assert_share 0.7, seen.total("Object#seven_parts"), points, "seven_parts"
    assert_share 0.3, seen.total("Object#three_parts"), points, "three_parts"
    assert_match(/^1 process, 1 thread, \d+ samples\/s, \d+ lost/, seen.text)
    assert_match(/^cpu [\d.]+ %, gc [\d.]+ %, overhead [\d.]+ %, own cpu [\d.]+ %/, seen.text)
    terminal.keys("q")
    assert_equal 0, terminal.status
    assert_sane terminal
  end

  def test_keys
    program = split
    terminal = top("-p", program.pid, "--interval", "200ms")
    process = "ruby3.1 (#{program.pid})".sub("ruby3.1", COMM)
    terminal.wait_for(/Object#seven_parts/)
    terminal.keys("w")
    terminal.wait_for(/^wall by method/)
    terminal.keys("v")
    terminal.wait_for(/^gc by method/)
    terminal.keys("c", "p")
    terminal.wait_for(/^cpu by process.*\n.*share.*\n +100\.0% .*#{Regexp.escape(process)} .*(parts|Integer#times) /)
    terminal.keys("b")
    terminal.wait_for(/^cpu by thread.*\n.*\n.* main /)
    terminal.keys("b", "b")
    terminal.wait_for(/^cpu by state.*\n.*\n.* had cpu /)
    terminal.keys("e")
    terminal.wait_for(/^cpu by endpoint.*\n.*\n.* \(none\) /)
    # Into the row: its methods; and out again.
    terminal.keys("p", "Enter")
    terminal.wait_for(/^cpu by method, .*process = #{Regexp.escape(process)}/)
    terminal.keys("Escape")
    terminal.wait_for(/^cpu by process, [^=]*$/)
    # Stacks that have the method.
    terminal.keys("m", "/")
    terminal.type("SEVEN")
    terminal.wait("only what fits the filter") { |text| text.include?("filter: SEVEN_") && TopTable.new(text).rows.keys.all?(/seven/) }
    terminal.keys("Enter", "o")
    terminal.wait("the method on top") { |text| TopTable.new(text).rows.keys.first == "Object#seven_parts" }
    terminal.keys("Enter", "Escape")
    text = terminal.wait_for(/^cpu by method.*, in Object#seven_parts$/)
    refute_match(/three_parts/, text)
    terminal.wait("all of it to be in the method") { |t| TopTable.new(t).rows["Object#seven_parts"]&.[](:total) == "100.0" }
    terminal.keys("Escape", "L")
    terminal.wait_for(/^cpu by method and line/)
    terminal.wait_for(/block in Object#seven_parts .*split\.rb:11/)
    terminal.keys("?")
    terminal.wait_for(/^q? *.*q +quit/)
    terminal.keys("q")
    assert_equal 0, terminal.status
    assert_sane terminal
  end

  def test_windows_and_freezing
    program = split
    terminal = top("-p", program.pid, "--interval", "200ms")
    terminal.wait_for(/last [2-9]\.\d s/)
    terminal.keys("-")
    terminal.wait_for(/last 0\.[1-4] s/)
    terminal.keys("+", "Space")
    frozen = terminal.wait_for(/\[frozen\]/)
    counts = TopTable.new(frozen).rows.transform_values(&:to_s)
    clock = frozen[/\d\d:\d\d:\d\d/]
    later = terminal.wait("time to go on") { |text| text[/\d\d:\d\d:\d\d/] > clock }
    assert_equal counts, TopTable.new(later).rows.transform_values(&:to_s)
    # What is frozen can be looked at from all sides.
    terminal.keys("t")
    terminal.wait_for(/^cpu by thread.*\n.*\n.*main/)
    terminal.keys("m")
    again = terminal.wait_for(/^cpu by method/)
    assert_equal counts, TopTable.new(again).rows.transform_values(&:to_s)
    terminal.keys("Space")
    terminal.wait("it to go on") { |text| !text.include?("[frozen]") && TopTable.new(text).shown != TopTable.new(again).shown }
  end

  def test_it_takes_any_size
    program = split
    terminal = top("-p", program.pid, "--interval", "100ms")
    terminal.wait_for(/Object#seven_parts/)
    [[50, 12], [20, 6], [1, 1], [7, 3], [200, 60], [79, 24]].each do |columns, lines|
      terminal.resize(columns, lines)
      next sleep 0.3 if columns < 30

      terminal.wait_for(columns > 79 ? /split\.rb:/ : /Kernel#loop/)
      # A row is a line: nothing runs over.
      terminal.wait("a table of #{columns} columns") do |text|
        rows = text.lines.map(&:chomp)
        heading = rows.index { |line| line.include?("self%") }
        heading == 4 && rows[5].match?(/^ *[\d.]+% +[\d.]+%/) && rows[5..].all? { |line| line.match?(/^ *[\d.]+%|^q quit|^$/) }
      end
    end
    Process.kill(:TERM, terminal.pid)
    assert_equal 0, terminal.status
    # Its lines were wider when it was small: what stood before is lost to tmux's own resizing.
    assert_equal "0 1 0 0 0", terminal.flags
    same = %w[before after].map { |name| terminal.read(name).sub(/rows \d+; columns \d+/, "") }
    assert_equal(*same)
  end

  { TERM: 0, HUP: 0, SEGV: 139 }.each do |signal, status|
    define_method("test_the_terminal_is_sane_after_#{signal}") do
      terminal = top("--comm", "nobody")
      terminal.wait_for(/no ruby process yet/)
      assert_match(/^1 /, terminal.flags)
      Process.kill(signal, terminal.pid)
      assert_equal status, terminal.status
      assert_sane terminal
    end
  end

  def test_it_can_be_stopped_and_continued
    terminal = top("--comm", "nobody", "--interval", "100ms")
    terminal.wait_for(/no ruby process yet/)
    File.write(File.join(terminal.folder, "stopped"), "")
    terminal.keys("C-z")
    # Between the two the script looks at the terminal and puts it in the foreground again.
    terminal.wait("it to be stopped and to go on") do |text|
      !File.exist?(File.join(terminal.folder, "stopped")) && text.include?("no ruby process yet")
    end
    assert_equal terminal.read("before"), terminal.read("after"), "modes while it was stopped"
    terminal.keys("q")
    assert_equal 0, terminal.status
    assert_sane terminal
    assert_match(/^stopped$/, terminal.screen)
  end

  # What it prints is not on the screen, and Ctrl-C ends both.
  def test_ctrl_c_and_a_command
    terminal = top("--", RUBY, "-e", "puts :on_the_screen; $stdout.flush; def busy = 100.times {}; busy until $stdin.read.nil?; exit 7")
    terminal.wait_for(/Object#busy/)
    refute_match(/on_the_screen/, terminal.screen)
    terminal.keys("C-c")
    assert_equal 130, terminal.status, "of the COMMAND, which Ctrl-C ends, too"
    assert_sane terminal
  end

  def test_a_dumb_terminal_gets_lines
    program = split
    terminal = top("-p", program.pid, "-d", 2, env: { "TERM" => "dumb" })
    assert_equal 0, terminal.status
    assert_match(/^cpu by method, last .*\n +self% .*\n(?:.*\n)*.*Object#seven_parts/, terminal.screen)
    assert_match(/^0 /, terminal.flags)
  end

  def test_a_terminal_nobody_knows_gets_lines_and_is_told
    terminal = top("--comm", "nobody", "-d", 1, env: { "TERM" => "nobody-knows-it" })
    assert_equal 0, terminal.status
    assert_match(/warning: no terminal 'nobody-knows-it' is known/, terminal.screen.delete("\n"))
    assert_match(/^0 processes/, terminal.screen.gsub(/^.*  (?=0 processes)/, ""))
    assert_equal terminal.read("before"), terminal.read("after")
  end

  # As in a container or on a small host.
  def test_it_needs_no_terminfo_database
    empty = folder("empty")
    hide = %w[/lib/terminfo /usr/share/terminfo /etc/terminfo /usr/lib/terminfo].select { |path| File.directory?(path) }
    hide = hide.map { |path| "mount --bind #{empty} #{path}" }.join(" && ")
    %w[xterm-256color tmux-256color].each do |term|
      terminal = top("--comm", "nobody", env: { "TERM" => term }, prefix: ["unshare", "-m", "sh", "-c", "#{hide} && exec \"$@\"", "sh"])
      terminal.wait_for(/no ruby process yet/)
      terminal.keys("q")
      assert_equal 0, terminal.status
      assert_equal "0 1 0 0 0", terminal.flags
    end
  end
end

# Plain lines where there is no terminal.
class TestTopPlain < E2E
  def tables(text) = text.force_encoding("UTF-8").split(/\n\n+/).map { |table| TopTable.new(table) }

  once(:seen) do
    program = Program.new("split.rb", 1000)
    program.go
    before = Clock.cpu_of(program.pid)
    profiler = Profiler.new("top", "-p", program.pid, "-F", 499, "-d", 5)
    profiler.wait_attached
    from = Clock.cpu_of(program.pid)
    sleep 3
    inside = Clock.cpu_of(program.pid) - from
    profiler.wait
    outside = Clock.cpu_of(program.pid) - before
    Children.end_all
    { profiler: profiler, inside: inside / 1e9, outside: outside / 1e9, tables: tables(profiler.out) }
  end

  def test_one_table_an_interval
    assert_code 0, seen[:profiler]
    assert_includes 3..6, seen[:tables].size, seen[:profiler].out
    seen[:tables].each do |table|
      assert_match(/\A\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  1 process, 1 thread, \d+ samples\/s, 0 lost, cpu /, table.text)
      assert_match(/^cpu by method, last \d\.\d s/, table.text)
    end
    assert_in_delta 5, seen[:tables].sum(&:window), 0.5
  end

  # What they have together is what the kernel charged the program meanwhile.
  def test_the_tables_add_up
    sum = seen[:tables].sum(&:sum)
    # Rounded to 10 ms each, and the first sample has what came since the clocks started.
    rounded = 0.006 * seen[:tables].size
    assert_operator sum, :<=, seen[:outside] + rounded
    assert_operator sum, :>=, seen[:inside] - rounded
  end

  def test_shares
    ticks = seen[:tables].sum(&:sum) * 499
    points = 100 * 5 * Math.sqrt(0.7 * 0.3 / ticks) + 1
    share = ->(name) { seen[:tables].sum { |t| t.rows.key?(name) ? t.total(name) * t.sum : 0 } / seen[:tables].sum(&:sum) }
    assert_share 0.7, share["Object#seven_parts"], points, "seven_parts"
    assert_share 0.3, share["Object#three_parts"], points, "three_parts"
    assert_operator share["<main>"], :>, 0.95
  end

  def test_by_label_with_focus_and_ignore
    busy = Program.new("busy.rb", 60)
    profiler = Profiler.run("top", "-p", busy.pid, "-d", 1, "--by", "thread", "--value", "wall-time", "--focus", "process=*(#{busy.pid})")
    assert_code 0, profiler
    assert_match(/^wall by thread, last .* process = \*\(#{busy.pid}\)$/, profiler.out)
    assert_operator tables(profiler.out).first.self_of("main"), :>, 0.5
    none = Profiler.run("top", "-p", busy.pid, "-d", 1, "--ignore", "pid=#{busy.pid}")
    assert_match(/^cpu by method, last .*: 0, without pid = #{busy.pid}$/, none.out)
    refute_match(/busy_work/, none.out)
    lines = Profiler.run("top", "-p", busy.pid, "-d", 1, "--lines")
    assert_match(/Object#busy_work .*busy\.rb:\d+$/, lines.out)
  end

  def test_a_command_and_its_status
    profiler = Profiler.run("top", "--interval", "100ms", "--", RUBY, "-e", "def busy = 3_000_000.times {}\n3.times { busy }; exit 9")
    assert_code 9, profiler
    assert_match(/Object#busy/, profiler.out)
    assert_code 127, Profiler.run("top", "--", "/no/such/command")
  end

  def test_a_reader_that_goes_away_ends_it
    reader, writer = IO.pipe
    profiler = Profiler.new("top", "--comm", "nobody", "--interval", "100ms", out: writer)
    writer.close
    reader.readpartial(10)
    reader.close
    profiler.wait
    assert_equal Signal.list["PIPE"], profiler.status.termsig, "as others end then"
    assert_empty profiler.err
  end

  # The first try of somebody whose program does not run yet.
  def test_record_says_that_there_is_nothing_yet
    profiler = Profiler.record("--comm", "nobody", "-d", 1)
    assert_code 0, profiler
    assert_match(/^rbprof-bpf: no ruby process fits yet: one that starts is recorded, until /, profiler.err)
    assert_match(/the profile is empty.*\n.*look at it with: rbprof-bpf report \S+\n\z/, profiler.err)
  end

  def test_a_full_disk_is_told
    skip "no /dev/full" unless File.exist?("/dev/full")
    profiler = Profiler.new("top", "--comm", "nobody", "--interval", "100ms", out: "/dev/full")
    profiler.wait
    assert_error profiler, 5, /cannot write to stdout: No space left/
  end

  def test_signals_end_it_with_what_came_last
    program = Program.new("split.rb", 1000).tap(&:go)
    profiler = Profiler.new("top", "-p", program.pid, "--interval", "1h")
    profiler.wait_attached
    sleep 0.5
    profiler.stop(:TERM)
    assert_code 0, profiler
    # Half an interval is a table; a moment of an hour is none.
    refute_match(/Object#seven_parts/, profiler.out)
    assert_code 3, Profiler.run("top", "-p", 2**22 - 1, "-d", 1)
  end

  def test_wrong_usage
    [["--by", ""], ["--focus", "x"], ["--ignore", "=x"], ["--interval", "1ms"], ["--interval", "2h"], ["--value", "nonsense"],
     ["--value", "alloc-samples"], ["-o", "x"], ["--"]].each do |args|
      profiler = Profiler.run("top", *args)
      assert_error profiler, 2, /./
    end
  end

  # What `state` tells of a record it tells of a top, too.
  def test_state
    program = Program.new("busy.rb", 60)
    profiler = Profiler.new("top", "-p", program.pid)
    profiler.wait_attached
    state = Profiler.run("state", profiler.pid, "--json")
    assert_code 0, state
    assert_equal [program.pid], JSON.parse(state.out)["recordings"].flat_map { |r| r["processes"].map { |p| p["pid"] } }
    profiler.stop
  end
end
