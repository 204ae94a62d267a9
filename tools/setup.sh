#!/bin/sh
# Make .venv with the pinned packages:  make setup   (or: sh tools/setup.sh)
#
#   sh tools/setup.sh --which    print the interpreter that it would take, and change nothing
#
# Environment: PYTHON=FILE is tried first; TORCH_INDEX=URL is a wheel index to take torch from.
# .venv/.stamp says that .venv is complete, and holds the TORCH_INDEX it was made with.
# Exit codes: 0 done, 1 an installation failed, 2 no suitable Python.
set -eu
umask 022 # other users must be able to read what root installs: workers run as other users
cd "$(dirname "$0")/.."

# Where to look after PATH. 3.14 comes last of the numbered ones: the youngest has fewest wheels.
FALLBACK_FOLDERS=${FALLBACK_FOLDERS-"/usr/local/bin /usr/bin"}
NAMES="python3.13 python3.12 python3.11 python3.14 python3"

# Run by each candidate: prints "ok FILE", or "no REASON". A venv is only links to the interpreter
# that made it; for root, that one must be reachable by the other users that workers run as.
PROBE='
import os, sys

def refusal():
    if sys.version_info < (3, 11):
        return "is Python %d.%d, expected 3.11 or newer" % sys.version_info[:2]
    base = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    if os.geteuid() == 0:
        for name in (base, os.path.realpath(os.__file__)):
            folder = os.path.dirname(name)
            while True:
                if not os.stat(folder).st_mode & 1:
                    return "lies below %s, which other users cannot enter" % folder
                if folder == os.path.dirname(folder):
                    break
                folder = os.path.dirname(folder)
        if not os.stat(base).st_mode & 1:
            return "may not be executed by other users"
    try:
        import ensurepip, venv
    except ImportError:
        return "lacks venv or ensurepip (on Debian: apt-get install python3-venv)"

reason = refusal()
base = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
print("no " + reason if reason else "ok " + (base if os.geteuid() == 0 else sys.executable))
'

candidates() {
    if [ -n "${PYTHON:-}" ]; then echo "$PYTHON"; fi
    for name in $NAMES; do
        command -v "$name" || true
        for folder in $FALLBACK_FOLDERS; do
            if [ -x "$folder/$name" ]; then echo "$folder/$name"; fi
        done
    done
}

# Sets `chosen`, or leaves it empty and sets `refused` to a line for each interpreter found.
choose() {
    chosen='' refused=''
    found=$(candidates)
    # One candidate a line: file names may hold spaces.
    while IFS= read -r candidate; do
        [ -n "$candidate" ] || continue
        verdict=$("$candidate" -I -c "$PROBE" 2>/dev/null </dev/null) || verdict="no does not run"
        case $verdict in
        "ok "*) chosen=${verdict#ok } && return ;;
        "no "*) reason=${verdict#no } ;;
        *) reason="does not answer like a Python" ;;
        esac
        case $refused in *"$candidate $reason"*) ;; *) refused="$refused
  $candidate $reason" ;; esac
    done <<EOF
$found
EOF
}

choose
if [ -z "$chosen" ] && [ "$(id -u)" = 0 ] && [ "${1:-}" != --which ]; then
    case $refused in *"lacks venv"*)
        if command -v apt-get >/dev/null; then
            echo "setup: installing python3-venv with apt"
            { apt-get update && apt-get install -y --no-install-recommends python3-venv; } \
                >/dev/null 2>&1 </dev/null || echo "setup: apt-get failed" >&2
            choose
        fi ;;
    esac
fi
if [ -z "$chosen" ]; then
    echo "setup: no suitable Python; install Python 3.11 or newer with venv for all users," \
        "or name one: make setup PYTHON=FILE. Refused:${refused:- none was found}" >&2
    exit 2
fi
if [ -n "${PYTHON:-}" ] && [ -n "$refused" ]; then echo "setup: not used:$refused" >&2; fi
if [ "${1:-}" = --which ]; then
    echo "$chosen"
    exit 0
fi

# A .venv without a stamp was interrupted; one from another index holds another torch.
stamp=.venv/.stamp
if [ ! -f $stamp ] || [ "${TORCH_INDEX:-$(cat $stamp)}" != "$(cat $stamp)" ] ||
    ! .venv/bin/python -c '' 2>/dev/null; then
    echo "setup: making .venv with $chosen"
    rm -rf .venv
    "$chosen" -m venv .venv
    index=${TORCH_INDEX:-}
else
    index=$(cat $stamp)
fi
rm -f $stamp

echo "setup: installing the pinned packages (some minutes the first time)"
pip() {
    .venv/bin/python -m pip --disable-pip-version-check --quiet "$@" || {
        echo "setup: pip failed, see above; the next make setup starts anew" >&2
        exit 1
    }
}
if [ -n "$index" ]; then
    # Only torch comes from there, so no dependencies yet: such an index has few other packages.
    torch=$(grep '^torch[^a-z]' requirements.txt)
    pip install --no-deps --index-url "$index" -c constraints.txt "$torch"
fi
pip install -r requirements-staff.txt -c constraints.txt

printf '%s\n' "$index" >.venv/.stamp.new
mv .venv/.stamp.new $stamp
echo "setup: done"
