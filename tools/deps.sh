#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Installs what building and testing needs, on Debian bookworm, as root.
set -eu

packages='
	gcc make git ca-certificates
	clang-19 llvm-19 libclang-rt-19-dev clang-format-19 cppcheck bpftool libbpf-dev
	libelf-dev libzstd-dev zlib1g-dev libcapstone-dev
	protobuf-c-compiler libprotobuf-c-dev uthash-dev libjansson-dev libyaml-dev libcmocka-dev scdoc
	libncurses-dev ncurses-bin ncurses-base tmux zsh fish
	ruby ruby-dev ruby-minitest golang-go binutils libc6-dev linux-libc-dev
	graphviz iproute2 procps util-linux libcap2-bin strace
	debootstrap debian-archive-keyring dpkg-dev patch libssl-dev libffi-dev
	chromium fonts-dejavu-core'
# Where npm or Chromium come from elsewhere, Debian's would be in their way.
command -v npm >/dev/null || packages="$packages nodejs npm"
command -v chromium >/dev/null || packages="$packages chromium"

missing=
for package in $packages; do
	dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
		missing="$missing $package"
done
if [ -n "$missing" ]; then
	echo "installing:$missing" >&2
	if [ "$(id -u)" -ne 0 ]; then
		echo "error: installing packages needs root: sudo make deps" >&2
		exit 1
	fi
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -q
	# shellcheck disable=SC2086
	apt-get install -q -y --no-install-recommends $missing
fi
# Who needs them says so, and why they are not there.
for name in driver viewers; do
	tests/npm/install "$name" >/dev/null || echo "warning: tests without npm's $name" >&2
done
