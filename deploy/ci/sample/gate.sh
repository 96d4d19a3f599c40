#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The gate: gate.sh BASE HEAD, two folders with this project before and after a change. Needs root,
# or the capabilities that rbprof-bpf(8) tells. Runs and reports lie in $OUT (default: gate).
# Exit status 0: no regression; 1: a regression; 4: it cannot be told; else it failed.
set -eu
base=$(cd "$1" && pwd)
head=$(cd "$2" && pwd)
out=${OUT:-gate}
mkdir -p "$out"

# Base and head in turn: what the machine does meanwhile is done to both.
rbprof-bpf gate run -n "${PAIRS:-10}" -F "${HZ:-499}" --interleave "ruby '$base/bench.rb'" \
	-o "$out/runs" -- ruby "$head/bench.rb"

# Reports first: the verdict is the same each time, and the last one is the script's status.
for report in gate.sarif gate.md gate.xml gate.html gate.json; do
	rbprof-bpf gate check --config "$head/.rbprof.yml" "$out/runs" -o "$out/$report" || true
done
if [ -n "${GITHUB_ACTIONS:-}" ]; then
	rbprof-bpf gate check --config "$head/.rbprof.yml" "$out/runs" -f github || true
fi
rbprof-bpf gate check --config "$head/.rbprof.yml" "$out/runs"
