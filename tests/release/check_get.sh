#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks what packaging/release/get does when sources are missing or are not the releases, and how it downloads them, from a server on this machine
# and by a table of its own; and that packaging/NOTICE is about their versions.
#
# usage: check_get.sh SOURCE_DIR
set -eu
release=$1/packaging/release
folder=$(mktemp -d)
server=
trap 'test -z "$server" || kill "$server"; rm -rf "$folder"' EXIT
failed=0
get=$release/get

# expect STATUS WORDS: what get says of $folder/sources.
expect() {
  status=0
  bash "$get" "$folder/into" "$folder/sources" >"$folder/said" 2>&1 || status=$?
  if [ "$status" = "$1" ] && grep -q "$2" "$folder/said"; then return; fi
  echo "exit status $status and not $1, or not \"$2\":"
  cat "$folder/said"
  failed=1
}

# ---- A folder ----

export WHYOOM_NO_DOWNLOAD=1
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

# ---- Downloads ----

if ! command -v curl >/dev/null || ! command -v python3 >/dev/null; then
  echo "not checked: downloads: curl and python3 are needed"
  exit $failed
fi
unset WHYOOM_NO_DOWNLOAD
rm -rf "$folder/sources" "$folder/into"
mkdir "$folder/sources" "$folder/served" "$folder/release" "$folder/made" "$folder/made/one-1"
echo 'int one;' >"$folder/made/one-1/one.c"
head -c 300000 /dev/urandom >"$folder/made/one-1/data"
tar -C "$folder/made" -czf "$folder/served/one-1.tar.gz" one-1
cp "$release/get" "$folder/release/get"
get=$folder/release/get
table() { printf 'one 1 one-1.tar.gz %s %s - -\n' "$1" "$2" >"$folder/release/sources.txt"; }
right=$(sha256sum <"$folder/served/one-1.tar.gz" | cut -d ' ' -f 1)
wrong=$(printf '%064d' 0)

# A server that can continue a file, tells what was asked for, and cuts one that is named cut-.
cat >"$folder/server.py" <<'END'
import http.server, os, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.rpartition("/")[2]
        path = os.path.join(sys.argv[1], name)
        begin = int((self.headers.get("Range") or "bytes=0-")[6:].rstrip("-"))
        with open(sys.argv[1] + ".asked", "a") as asked:
            asked.write(f"{name} {begin}\n")
        if not os.path.exists(path):
            return self.send_error(404)
        content = open(path, "rb").read()
        if begin > len(content):
            return self.send_error(416)
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - begin))
        self.end_headers()
        is_cut = os.path.exists(sys.argv[1] + ".cut")
        self.wfile.write(content[begin:begin + 100000] if is_cut else content[begin:])
        self.close_connection = True

    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1] + ".port.new", "w") as port:
    port.write(str(server.server_port))
os.rename(sys.argv[1] + ".port.new", sys.argv[1] + ".port")
server.serve_forever()
END
python3 -B "$folder/server.py" "$folder/served" &
server=$!
waited=0
while [ ! -f "$folder/served.port" ] && [ "$waited" -lt 200 ]; do sleep 0.1; waited=$((waited + 1)); done
WHYOOM_SOURCES_MIRROR=http://127.0.0.1:$(cat "$folder/served.port")/mirror/
export WHYOOM_SOURCES_MIRROR
asked() { cat "$folder/served.asked" 2>/dev/null; rm -f "$folder/served.asked"; }
same() { cmp -s "$folder/made/one-1/data" "$folder/into/one/data" || { echo "$1: other files than served"; failed=1; }; }

table "$right" https://example.invalid/one-1.tar.gz
expect 0 'one 1: downloaded'
same "a download"
[ "$(asked)" = 'one-1.tar.gz 0' ] || { echo "it did not ask once for the archive"; failed=1; }
[ "$(ls "$folder/into")" = one ] || { echo "it left: $(ls "$folder/into")"; failed=1; }

# What came of a download that broke off is continued.
touch "$folder/served.cut"
rm -rf "$folder/into"
expect 77 'missing: one 1 (one-1.tar.gz, https://example.invalid/one-1.tar.gz)'
[ "$(wc -c <"$folder/into/one-1.tar.gz.part")" = 100000 ] || { echo "the part that came was not kept"; failed=1; }
rm "$folder/served.cut"
asked >/dev/null
expect 0 'one 1: downloaded'
same "a download that was continued"
[ "$(asked)" = 'one-1.tar.gz 100000' ] || { echo "it was not continued"; failed=1; }

# A part that is longer than the file, as of another release.
head -c 900000 /dev/zero >"$folder/into/one-1.tar.gz.part"
expect 0 'one 1: downloaded'
same "a download after a part that is too long"
asked >/dev/null

# Another file than the release, and one that the server does not have.
table "$wrong" https://example.invalid/one-1.tar.gz
expect 1 'is not the release: its SHA-256 is'
[ ! -e "$folder/into/one" ] || { echo "a wrong archive was unpacked"; failed=1; }
table "$right" https://example.invalid/one-1.tar.gz
expect 0 'one 1: downloaded'
mv "$folder/served/one-1.tar.gz" "$folder/served/away"
expect 77 'missing: one 1'
grep -q '404' "$folder/said" || { echo "it does not say why"; failed=1; }

# Without a mirror, only https.
unset WHYOOM_SOURCES_MIRROR
mv "$folder/served/away" "$folder/served/one-1.tar.gz"
table "$right" "http://127.0.0.1:$(cat "$folder/served.port")/one-1.tar.gz"
asked >/dev/null
expect 77 'missing: one 1'
[ -z "$(asked)" ] || { echo "it asked a server without https"; failed=1; }
exit $failed
