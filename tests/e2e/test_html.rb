# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "open3"
require_relative "helper"
require_relative "pprof_write"

# -f html in a real Chromium: what is seen after what a person does.
class TestHtml < E2E
  BROWSER = File.join(__dir__, "browser/page.mjs")
  EVIL = "</script><img src=x onerror=\"document.title='owned'\">"
  UNITS = { "ns" => 1, "µs" => 1e3, "ms" => 1e6, "s" => 1e9 }.freeze
  OPEN_MS = 60_000 # what no machine may need; bench/run html has the figures

  once(:npm) do
    out, err, status = Open3.capture3(File.join(ROOT, "tests/npm/install"), "driver")
    raise "tests/npm/install: #{err}" unless status.success?

    out.strip
  end

  def browse(file, scenario)
    skip "chromium is not installed: make deps" unless command?("chromium")
    skip "node is not installed: make deps" unless command?("node")
    out, err, status = Open3.capture3({ "RBPROF_NPM" => npm, "TMPDIR" => SCRATCH, "HOME" => SCRATCH },
                                      "node", BROWSER, file, scenario, stdin_data: "", pgroup: true)
    assert status.success?, "the browser: #{err}"
    JSON.parse(out).tap do |seen|
      assert_empty seen["errors"], "errors of the page"
      assert_empty seen["foreign"], "the page asked for something"
      puts "  #{scenario} of #{File.size(file) / 1024} KB: #{seen["openMs"].round} ms" if ENV["VERBOSE"]
    end
  end

  once(:recorded) do
    file = Profiler.new_file(".html")
    recording = Profiler.record("-F", "499", "--", RUBY, File.join(PROGRAMS, "page.rb"), out: File::NULL)
    assert_code 0, recording
    assert_code 0, Profiler.run("report", recording.file, "-o", file)
    json = Profiler.run("report", recording.file, "-f", "json")
    { profile: recording.profile, file: file, json: JSON.parse(json.out) }
  end

  once(:tour) { browse(recorded[:file], "tour") }

  def profile = recorded[:profile]

  # "3.40 s" in ns, and how much it may be off by its three digits.
  def assert_shows(expected, text, what = "figure")
    match = /(-|−)?([\d,.]+)(?: (\S+))?/.match(text) or flunk "#{what}: no figure in #{text.inspect}"
    value = match[2].delete(",").to_f * UNITS.fetch(match[3], 1)
    assert_in_delta expected, value, expected.abs * 0.0051 + 1, "#{what}: #{text}"
  end

  # The functions of report -f json, in the order of the page.
  def functions(field, type = "cpu-time")
    recorded[:json]["functions"].map { |f| [f["name"], f[field][type] || 0] }.reject { |_, v| v.zero? }.sort_by { |_, v| -v }
  end

  def test_it_opens_and_shows_the_sums
    seen = tour["look"]
    assert_match(/\AProfile: record -F 499/, seen["title"])
    assert_shows profile.sum, seen["said"][/\ACPU time (.*)/, 1]
    tiles = seen["tiles"].to_h
    { "CPU time" => "cpu-time", "Wall time" => "wall-time", "CPU samples" => "cpu-samples", "GC time" => "timeline" }
      .each { |tile, type| assert_shows profile.sum(type), tiles.fetch(tile), tile }
    assert_includes seen["facts"], "499 Hz"
    assert_includes seen["facts"], "Ruby #{RUBY_VERSION}"
    assert_empty ["Ruby", "C method", "GC"] - seen["legend"]
  end

  def test_the_table_is_that_of_the_other_formats
    shown = tour["look"]["functions"]
    functions("self").first(5).zip(shown) do |(_, value), (name, self_text)|
      assert_shows value, self_text, name
    end
    by_total = tour["views"]["byTotal"]
    functions("total").first(5).zip(by_total) { |(_, value), (name, _, total)| assert_shows value, total, name }
  end

  def test_the_mouse_zooms_and_tells
    seen = tour["mouse"]
    assert_match(/zoomed to /, seen["zoomed"])
    assert_includes seen["zoomed"], seen["zoomedItem"][/\A[^,]+/]
    refute_match(/zoomed/, seen["reset"])
    assert_match(/total ?[\d.]+ \S+ · [\d.]+ %.*self/m, seen["tip"])
    assert seen["tipIsGone"]
    assert_equal tour["look"]["functions"][1].first, seen["picked"][/\A[^,]+/]
  end

  def test_the_search
    seen = tour["search"]
    names = profile.samples.select { |s| s.cpu.positive? }.flat_map(&:names).uniq
    found = names.grep(/outer_/)
    assert_operator found.size, :>=, 2
    assert_match(/\A\d+ found · [\d.]+ %\z/, seen["found"])
    assert_equal found.sort, seen["matches"].map(&:first).sort
    assert_equal names.grep(/inner_(a|b)$/).sort, seen["byExpression"]
    assert_equal ["not a regular expression", "true"], seen["invalid"]
    assert_match(/outer_/, seen["firstMatch"])
    assert_operator seen["after"], :>, 2
    share = profile.sum { |s| s.names.intersect?(found) }.to_f / profile.sum
    assert_in_delta share * 100, seen["found"][/[\d.]+(?= %)/].to_f, 0.06
  end

  def test_filters_and_groups_by_label
    seen = tour["labels"]
    assert_empty ["process", "thread name", "state", "pid"] - seen["keys"]
    other = profile.sum { |s| s.thread == "other" }
    assert_shows other, seen["threads"].find { |name,| name == "other" }[1]
    assert_shows other, seen["only"][/\ACPU time ([^·]*)/, 1]
    assert_equal ["Remove filter: thread name = other"], seen["chips"]
    assert_shows profile.sum - other, seen["without"][/\ACPU time ([^·]*)/, 1]
    assert_shows profile.sum, seen["all"][/\ACPU time (.*)/, 1]
    assert_match(/\Athread name: /, seen["group"])
  end

  def test_views_and_values
    seen = tour["views"]
    assert_equal tour["look"]["functions"].first.first, seen["caller"][/\A[^,]+/]
    assert_shows profile.sum, seen["lines"][/\ACPU time (.*)/, 1]
    assert_shows profile.sum("wall-time"), seen["wall"][/\AWall time (.*)/, 1]
    assert_shows functions("self", "wall-time").first.last, seen["wallFunctions"].first[1]
  end

  def test_light_and_dark
    seen = tour["themes"]
    assert_equal %w[light dark light dark], seen["themes"]
    refute_equal(*seen["backs"])
  end

  def test_the_keyboard_alone
    seen = tour["keyboard"]
    missing = %w[theme help-button type view order lines group search graph separator tab-functions list-body] - seen["stops"]
    assert_empty missing, "Tab does not reach them, only #{seen["stops"]}"
    assert_equal "3", seen["level"]
    assert_includes seen["zoomed"], "zoomed to #{seen["down"][/\A[^,]+/]}:"
    refute_equal seen["down"], seen["out"]
    refute_match(/zoomed/, seen["reset"])
    assert_match(/outer_b,/, seen["match"])
    assert_equal [true, false], seen.values_at("help", "helpAfter")
    assert_match(/\AWall time /, seen["value"])
    assert_equal "function-1", seen["row"]
    assert_operator seen["heights"][1].to_i, :>, seen["heights"][0].to_i
  end

  # C42, C44: names are text, whatever they look like.
  def test_names_are_harmless
    seen = tour["look"]
    assert_includes profile.samples.flat_map(&:names), "Object##{EVIL}"
    assert_equal 0, seen["images"]
    refute_equal "owned", seen["title"]
    page = File.read(recorded[:file], encoding: "UTF-8")
    assert_equal 2, page.scan(%r{</script>}i).size
    refute_match(/<img/i, page)

    file = write(:odd) do |writer|
      [EVIL, "a;b\nc \u00e9", "#<Class:X>", "\u202eevil\u001b[1m", "<b>", "\u{1f525}" * 300].each_with_index do |name, i|
        writer.add([PprofWriter::Frame.new(name, name, 1, 1)], { "thread name" => name }, [1, (10 - i) * 1_000_000])
      end
    end
    seen = browse(file, "look")
    assert_equal 0, seen["images"]
    assert_equal [EVIL, "a;b\\nc \u00e9", "#<Class:X>", "\\u202eevil\\x1b[1m", "<b>"], seen["functions"].map(&:first).first(5)
  end

  def test_an_empty_profile
    seen = browse(write(:empty) { nil }, "look")
    assert_empty seen["functions"]
    assert_match(/\ACPU time 0\z/, seen["said"])
  end

  # C112: what viewers die of.
  def test_a_deep_profile
    frames = Array.new(1000) { |i| PprofWriter::Frame.new("level_#{i}", "deep.rb", i, i) }
    file = write(:deep) { |writer| 20.times { |i| writer.add(frames.first(1000 - i).reverse, {}, [1, 1_000_000]) } }
    seen = browse(file, "deep")
    assert_match(/\Alevel_999, deep.rb:999/, seen["bottom"])
    assert_equal "1001", seen["level"]
    assert_operator seen["openMs"], :<, OPEN_MS
  end

  def test_a_profile_of_a_hundred_thousand_stacks
    file = write(:large) { |writer| PprofWriter.fill(writer, 100_000) }
    page = File.read(file)
    assert_operator page[/"nodes":\{"count":(\d+)/, 1].to_i, :>, 100_000
    seen = browse(file, "look")
    assert_equal "100,000", seen["tiles"].to_h["CPU samples"]
    assert_operator seen["openMs"], :<, OPEN_MS
  end

  def test_record_writes_it
    file = Profiler.new_file(".html")
    assert_code 0, Profiler.run("record", "-o", file, "--", RUBY, "-e", "1_000_000.times {}")
    assert_match(%r{\A<!DOCTYPE html>.*</html>\n\z}m, File.read(file, encoding: "UTF-8"))
  end

  # A difference is read by the same page.
  def test_a_difference
    base, head = [1, 3].map do |times|
      path = Profiler.new_file(".pb.gz")
      writer = PprofWriter.new
      frame = PprofWriter::Frame.new("grows", "a.rb", 1, 1)
      writer.add([frame], {}, [times, times * 1_000_000])
      writer.write(path)
    end
    file = Profiler.new_file(".html")
    assert_code 0, Profiler.run("diff", base, head, "-f", "html", "-o", file)
    seen = browse(file, "look")
    assert_match(/\ADifference/, seen["title"])
    assert_includes seen["functions"].first, "grows"
  end

  private

  # The page of a profile that the block makes.
  def write(name)
    writer = PprofWriter.new
    yield writer
    path = writer.write(File.join(SCRATCH, "#{name}.pb.gz"))
    File.join(SCRATCH, "#{name}.html").tap { |file| assert_code 0, Profiler.run("report", path, "-o", file) }
  end
end
