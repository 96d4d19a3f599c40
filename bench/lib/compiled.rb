# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  # Programs in C, built when they are first wanted.
  def self.compiled(name, *flags)
    source = File.join(PROGRAMS, "#{name}.c")
    binary = File.join(BUILT, name)
    FileUtils.mkdir_p(BUILT)
    return binary if File.exist?(binary) && File.mtime(binary) > File.mtime(source)

    said = IO.popen([ENV.fetch("CC", "gcc"), "-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror", *flags,
                     source, "-o", binary], err: %i[child out], &:read)
    $?.success? ? binary : raise(Unable, "#{name}.c does not compile: #{said.lines.first}")
  end
end
