# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Folders that take minutes to make, kept between runs. Sourced; $cache is where they lie. Each
# holds the hash of the recipe (a program) that made it, so a changed recipe makes it anew.

keep_stamp() { # RECIPE
	sha256sum "$1" | cut -d ' ' -f 1
}

keep_has() { # NAME RECIPE
	[ "$(cat "$cache/$1/.recipe" 2>/dev/null)" = "$(keep_stamp "$2")" ]
}

keep_remove() { # FOLDER... never goes into something mounted
	local folder
	for folder; do
		[ ! -e "$folder" ] || rm -rf --one-file-system -- "$folder"
	done
}

# Unless it is there: RECIPE ARGS... with %s for the folder to make, which has another name until
# it is complete. Runs at the same time wait for each other, and for a recipe whose caller was
# killed. Status 77: cannot be had here.
keep_make() ( # NAME RECIPE ARGS...
	name=$1 recipe=$2
	shift 2
	temporary=$cache/.$name.new old=$cache/.$name.old log=$cache/$name.log status=0
	! keep_has "$name" "$recipe" || exit 0
	mkdir -p "$cache"
	exec 9>"$cache/.$name.lock"
	flock 9
	! keep_has "$name" "$recipe" || exit 0
	echo "making $cache/$name, takes some minutes" >&2
	keep_remove "$temporary" "$old"
	stamp=$(keep_stamp "$recipe")
	"$recipe" "${@/#%s/$temporary}" >"$log" 2>&1 || status=$?
	if [ "$status" -ne 0 ]; then
		keep_remove "$temporary"
		tail -n $((status == 77 ? 1 : 20)) "$log" >&2
		[ "$status" -eq 77 ] || echo "$name is not made, see $log" >&2
		exit "$status"
	fi
	echo "$stamp" >"$temporary/.recipe"
	[ ! -e "$cache/$name" ] || mv -T "$cache/$name" "$old"
	mv -T "$temporary" "$cache/$name"
	keep_remove "$old"
)

keep_clean() ( # NAME
	[ -d "$cache" ] || exit 0
	exec 9>"$cache/.$1.lock"
	flock 9
	keep_remove "$cache/$1" "$cache/.$1.new" "$cache/.$1.old"
	rm -f "$cache/$1.log" "$cache/.$1.lock"
	rmdir --ignore-fail-on-non-empty "$cache"
)
