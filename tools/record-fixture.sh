#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Records tests/fixtures/NAME-VERSION.gz from tests/fixtures/NAME.rb with the installed Ruby:
#	tools/record-fixture.sh NAME [RUBY]
# Build the recorder first: make .output/record-fixture. Needs the right to read the process.
set -eu
cd "$(dirname "$0")/.."
name=$1 ruby=${2:-ruby}
version=$("$ruby" -e 'print RUBY_VERSION')
# The program's path is part of the fixture, so it runs from where any machine can have it.
work=/tmp/fixture
rm -rf "$work"
mkdir "$work"
cp "tests/fixtures/$name.rb" "$work/"
"$ruby" "$work/$name.rb" >"$work/truth" &
pid=$!
trap 'kill $pid 2>/dev/null; rm -rf "$work"' EXIT
until grep -q '^ready$' "$work/truth"; do
	kill -0 $pid
	sleep 0.1
done
.output/record-fixture $pid "$version" "$work/truth" "tests/fixtures/$name-$version.gz"
