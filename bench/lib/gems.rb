# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "open3"

module Bench
  # Profilers that run inside the process, to compare with: installed on first use, for the
  # benchmarks only.
  module Gems
    HOME = File.join(BUILT, "gems")
    VERSIONS = { "stackprof" => "0.2.27", "vernier" => "1.10.0", "pf2" => "0.14.0", "rperf" => "0.11.1" }.freeze
    INSTALL_SECONDS = 300

    # Folders for the load path; Unable with the client's reason where it cannot be installed.
    def self.load_path(name)
      version = VERSIONS.fetch(name)
      install(name, version) unless File.exist?(specification(name, version))
      spec = Gem::Specification.load(specification(name, version))
      extension = File.join(HOME, "extensions", "*", "*", "#{name}-#{version}")
      spec.require_paths.map { |path| File.expand_path(path, File.join(HOME, "gems", "#{name}-#{version}")) } +
        Dir[extension]
    end

    def self.specification(name, version) = File.join(HOME, "specifications", "#{name}-#{version}.gemspec")

    def self.install(name, version)
      said, status = Open3.capture2e("timeout", INSTALL_SECONDS.to_s, RUBY, "-S", "gem", "install", "--no-document",
                                     "--ignore-dependencies", "--install-dir", HOME, name, "-v", version)
      return if status.success?

      reason = said.lines.map(&:strip).grep(/requires|error|could not/i).last || said.lines.last.to_s.strip
      # No host of a registry in what we print.
      raise Unable, "gem #{name} #{version} does not install: #{reason.gsub(%r{https?://\S+}, "(registry)")[0, 160]}"
    end
  end
end
