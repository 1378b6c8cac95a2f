#!/bin/sh
# Checks what packaging/release/get does when sources are missing or are not the releases, and that packaging/NOTICE is about their versions.
#
# usage: check_get.sh SOURCE_DIR
set -eu
release=$1/packaging/release
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
export WHYOOM_NO_DOWNLOAD=1

# expect STATUS WORDS: what get says of $folder/sources.
expect() {
  status=0
  bash "$release/get" "$folder/into" "$folder/sources" >"$folder/said" 2>&1 || status=$?
  if [ "$status" = "$1" ] && grep -q "$2" "$folder/said"; then return; fi
  echo "exit status $status and not $1, or not \"$2\":"
  cat "$folder/said"
  failed=1
}

mkdir "$folder/sources"
expect 77 'missing: zlib .*https://'
expect 77 'missing: musl .*https://'
mkdir "$folder/sources/zlib-$(awk '$1 == "zlib" { print $2 }' "$release/sources.txt")"
expect 1 'lacks files of the release'
echo 'int a;' >"$(echo "$folder/sources/zlib-"*)/a.c"
expect 1 'has other files than the release'
echo 'no archive' >"$folder/sources/$(awk '$1 == "musl" { print $3 }' "$release/sources.txt")"
expect 1 'is not the release'

grep -v -e '^#' -e '^$' "$release/sources.txt" | awk '{ print $2 }' >"$folder/versions"
while read -r version; do
  grep -q " $version" "$1/packaging/NOTICE" || { echo "packaging/NOTICE is not about version $version"; failed=1; }
done <"$folder/versions"
exit $failed
