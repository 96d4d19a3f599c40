# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Runs the whole end-to-end suite: ruby tests/e2e/all.rb [minitest's options].
require_relative "helper"
Dir[File.join(__dir__, "test_*.rb")].sort.each { |file| require file }
