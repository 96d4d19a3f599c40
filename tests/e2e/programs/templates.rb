# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Ten thousand methods with names that are never the same again, as template engines make them:
# templates.rb SECONDS, of CPU
require_relative "common"

random = Random.new(5)
names = Array.new(10_000) { |i| "_app_views_#{i}_html_erb__#{random.bytes(16).unpack1("H*")}" }
names.each { |name| Object.class_eval("def #{name}(limit) = (nil while cpu_now < limit)", "#{name}.erb", 1) }
ready
limit = cpu_now + (ARGV[0] || 2).to_f * 1e9
names.each do |name|
  send(name, cpu_now + 300_000)
  break if cpu_now > limit
end
done
