# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Loaded by oracle.rb: works while the file itself and a class body are being run.
class LoadedByOracle
  send($oracle_mark)
end
