#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The page of -f html as a C header: tools/html-page.sh FOLDER >HEADER; with "script" after FOLDER
# its script alone. It puts the style and the
# script, made of the modules in the order in which they need each other, into the template, and
# cuts it where the data goes.
set -eu
folder=$1
modules='format model tree callers layout palette dom list graph names search functions labels
	details controls header keys theme app main'

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
	echo "html-page.sh: $1" >&2
	exit 1
}

# In one file there is nothing to import: an import ends at the line of its from.
for module in $modules; do
	sed -e '/^import .*";$/d' -e '/^import /,/";$/d' -e 's/^export //' -e '/^\/\/ SPDX/d' "$folder/$module.js"
done >"$scratch/script"
if [ "${2:-}" = script ]; then
	cat "$scratch/script"
	exit 0
fi
for file in "$folder"/*.js; do
	name=${file##*/}
	case " $(echo "$modules" | tr -s '\n\t' '  ') " in
	*" ${name%.js} "*) ;;
	*) fail "$name is not in the list of modules" ;;
	esac
done
cat "$folder/graph.css" "$folder/tables.css" "$folder/page.css" | grep -v '^/\* SPDX' >"$scratch/style"
! grep -qi '</\|<!--' "$scratch/script" "$scratch/style" || fail "a tag in the script or style"

# What the browser hashes is all between the tags.
{
	echo
	cat "$scratch/script"
} >"$scratch/element"
hash=$(sha256sum "$scratch/element" | cut -c1-64 | tr a-f A-F | basenc --base16 -d | base64)

awk -v hash="$hash" -v style="$scratch/style" -v script="$scratch/element" '
	function put(file, line) { while ((getline line < file) > 0) print line; close(file) }
	$0 == "@STYLE@" { put(style); next }
	/@SCRIPT@/ {
		split($0, parts, "@SCRIPT@")
		printf "%s", parts[1]
		put(script)
		print parts[2]
		next
	}
	{ sub(/@SCRIPT_HASH@/, hash); print }' "$folder/page.html" >"$scratch/page"
[ "$(grep -c '@DATA@' "$scratch/page")" -eq 1 ] || fail "not one place for the data"
sed -e '/@DATA@/q' "$scratch/page" | sed -e '$s/@DATA@.*//' | head -c -1 >"$scratch/head"
sed -n -e '/@DATA@/,$p' "$scratch/page" | sed -e '1s/.*@DATA@//' >"$scratch/tail"

bytes() { # NAME FILE
	echo "static const unsigned char $1[] = {"
	od -An -v -t u1 "$2" | sed -e 's/  *\([0-9]\)/ \1/g' -e 's/\([0-9]\)\( \|$\)/\1,\2/g'
	echo "};"
}
echo "/* Made by tools/html-page.sh. */"
bytes html_page_head "$scratch/head"
bytes html_page_tail "$scratch/tail"
