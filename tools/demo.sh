#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Builds, records the sample program for some seconds and shows the profile: sudo make demo.
# SECONDS_TO_RECORD (default 5); RUBY: which one runs it (default Debian's own).
set -eu
cd "$(dirname "$0")/.."

if [ "$(id -u)" -ne 0 ]; then
	echo "error: reading the kernel needs root: sudo make demo" >&2
	exit 1
fi
tools/deps.sh
make --no-print-directory -j"$(nproc)"

profile=.output/demo.pb.gz
set -x
.output/rbprof-bpf record -o "$profile" -- \
	"${RUBY:-/usr/bin/ruby}" tools/demo.rb "${SECONDS_TO_RECORD:-5}"
.output/rbprof-bpf report "$profile"
