#!/bin/sh
# Create .venv with the pinned packages:  make setup   (or: sh tools/setup.sh)
# uv installs them if it is on PATH, otherwise pip; the versions are the same.
#
#   sh tools/setup.sh --which    print the interpreter that it would use, and change nothing
#
# Environment: PYTHON=FILE is tried first; TORCH_INDEX=URL is a wheel index to install torch from;
# UV=FILE names uv if it is not on PATH, and an empty UV= means pip.
# FALLBACK_FOLDERS: where to look for a Python after PATH. EVERY_S=10: seconds between two progress
# lines of an installation.
# .venv/.stamp marks .venv as complete, and contains the TORCH_INDEX that was used.
# Exit codes: 0 done, 1 an installation failed, 2 no suitable Python.
set -eu
umask 022 # other users must be able to read what root installs: workers run as other users
cd "$(dirname "$0")/.."
# In an activated .venv, the uv on PATH may be .venv's own, which is deleted with it.
uv=$(PATH=${PATH#"$PWD/.venv/bin:"} && command -v "${UV-uv}") || uv=''

# Where to look after PATH. 3.14 comes last of the numbered ones: the newest has the fewest wheels.
FALLBACK_FOLDERS=${FALLBACK_FOLDERS-"/usr/local/bin /usr/bin"}
NAMES="python3.13 python3.12 python3.11 python3.14 python3"

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
        verdict=$(uv=$uv "$candidate" -I tools/usable_python.py 2>/dev/null </dev/null) ||
            verdict="no does not run"
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

if [ -n "$uv" ]; then
    needed=''
    make_venv() { "$uv" venv --quiet --python "$chosen" .venv; }
    # Compiles as pip does, since the grader's workers can't save bytecode.
    install() {
        "$uv" pip install --quiet --compile-bytecode --python .venv/bin/python \
            -c constraints.txt "$@"
    }
    # Both, since indexes from uv's configuration would come before the default one.
    torch_from() { install --no-deps --index "$1" --default-index "$1" "$2"; }
else
    needed='import pip'
    make_venv() { "$chosen" -m venv .venv; }
    install() {
        .venv/bin/python -m pip --disable-pip-version-check --quiet install -c constraints.txt "$@"
    }
    torch_from() { install --no-deps --index-url "$1" "$2"; }
fi
failed() {
    echo "setup: $1 failed, see above; the next make setup starts over" >&2
    exit 1
}

# Without a stamp, creating .venv was interrupted; another index has another torch.
stamp=.venv/.stamp
if [ ! -f $stamp ] || [ "${TORCH_INDEX:-$(cat $stamp)}" != "$(cat $stamp)" ] ||
    ! .venv/bin/python -c "$needed" 2>/dev/null; then
    echo "setup: creating .venv with $chosen"
    rm -rf .venv
    make_venv || failed "creating .venv"
    index=${TORCH_INDEX:-}
else
    index=$(cat $stamp)
fi
rm -f $stamp

# Prints progress, since pip and uv may print nothing for minutes.
started=$(date +%s)
go_on() {
    while sleep "${EVERY_S:-10}" >/dev/null 2>&1; do
        size=$(du -sm .venv 2>/dev/null | cut -f1)
        echo "setup: still installing after $(($(date +%s) - started)) s, $size MB in .venv"
    done
}
echo "setup: installing the pinned packages with ${uv:-pip} (some minutes the first time)"
go_on &
teller=$!
trap 'kill $teller 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM
if [ -n "$index" ]; then
    # Only torch comes from there, so no dependencies yet: such an index has few other packages.
    torch=$(grep '^torch[^a-z]' requirements.txt)
    torch_from "$index" "$torch" || failed "installing torch from $index"
fi
install -r requirements-staff.txt || failed "installing the packages"
# uv links files from its cache, with the permissions they had when it was filled.
chmod -R a+rX .venv

printf '%s\n' "$index" >.venv/.stamp.new
mv .venv/.stamp.new $stamp
echo "setup: done"
