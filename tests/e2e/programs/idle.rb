# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Waits to be told to go, then to end.
require_relative "common"
ready
done
