#!/bin/sh
# Install the missing Debian packages of apt.txt, if this user may do so.
#     sh tools/apt.sh             prints nothing if nothing is missing, or nothing can be done
#     sh tools/apt.sh --loud      says so, and exits with 1 if a package is still missing
# Without --loud, a package that can't be installed is no error: the tests that need it report it
# (tests/conftest.py).
cd "$(dirname "$0")/.." || exit 2
loud=${1:-}
end() {
    [ -z "$loud" ] || { echo "apt: $1" && exit "$2"; }
    exit 0
}
# One package a line; # begins a comment.
listed=$(sed 's/#.*//' apt.txt | xargs)
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    end "nothing was installed; only root can, with apt-get: install what apt.txt names by other \
means: $listed" 1
fi
missing=
for name in $listed; do
    status=$(dpkg-query --show --showformat='${Status}' "$name" 2>/dev/null)
    [ "$status" = "install ok installed" ] || missing="$missing${missing:+ }$name"
done
[ -n "$missing" ] || end "nothing is missing" 0
names=$(echo "$missing" | sed 's/ /, /g')
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
# shellcheck disable=SC2086  # each word is a package
set -- apt-get install --yes --no-install-recommends $missing
apt-get update >/dev/null 2>&1 </dev/null
need='s/^Need to get \([^ ]* [^ /]*\).*/: a download of \1/p'
echo "apt: installing $names$("$@" --print-uris 2>/dev/null | sed -n "$need") ..."
if "$@" >/dev/null 2>&1 </dev/null; then
    echo "apt: installed $names"
else
    echo "apt: apt-get could not install $names"
    [ -z "$loud" ] || exit 1
fi
