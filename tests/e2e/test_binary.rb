# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# One binary that needs nothing but libc and zlib.
class TestBinary < E2E
  def test_it_needs_libc_and_zlib_only
    out = IO.popen(["ldd", BINARY], &:read)
    libraries = out.lines.map { |line| File.basename(line.strip.split.first) }
    libraries.reject! { |name| name.match?(/\A(linux-vdso|linux-gate|ld-linux|libc\.so|libz\.so|libm\.so)/) }
    assert_empty libraries
  end

  def test_it_runs_without_its_source
    place = folder("bin")
    path = File.join(place, "rbprof-bpf")
    FileUtils.cp(BINARY, path)
    profiler = Profiler.record("--", RUBY, "-e", "3_000_000.times {}", binary: path, chdir: place)
    assert_code 0, profiler
    assert_operator profiler.profile.sum, :>, 0
  end

  # A compiler's or builder's paths are nobody's business.
  def test_it_holds_no_path_of_its_builder
    strings = File.binread(BINARY).scan(/[\x20-\x7e]{8,}/n)
    assert_empty strings.grep(%r{/\.output/.*\.bpf\.o}).grep_v(/DW_|\.debug/), "paths"
  end
end
