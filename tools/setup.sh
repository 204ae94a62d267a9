#!/bin/sh
# Create .venv with the pinned packages, by uv:  make setup   (or: sh tools/setup.sh)
# Environment: PYTHON=FILE names the interpreter; TORCH_INDEX=URL is a wheel index to install torch
# from; UV=FILE names uv. If it isn't on PATH, or UV= is empty, pip installs it in .venv.
# .venv/.stamp marks .venv as complete, and contains the TORCH_INDEX that was used.
# Exit codes: 0 done, 2 no suitable Python or an unknown variable, others: an installation failed.
set -eu
umask 022 # other users must be able to read what root installs: workers run as other users
cd "$(dirname "$0")/.."
# In an activated .venv, the uv on PATH may be .venv's own, which is deleted with it.
uv=$(PATH=${PATH#"$PWD/.venv/bin:"} && command -v "${UV-uv}") || uv=''

# .venv links to its interpreter; if root makes it, others must be able to reach this one, too.
choose() {
    for name in "$@"; do
        for python in "$(command -v "$name")" "/usr/local/bin/$name" "/usr/bin/$name"; do
            "$python" -I -c "import os, pathlib, sys, venv$([ -n "$uv" ] || echo ', ensurepip')
folders = pathlib.Path(sys._base_executable).resolve().parents
closed = os.geteuid() == 0 and not all(folder.stat().st_mode & 1 for folder in folders)
sys.exit(closed or sys.version_info < (3, 11))" >/dev/null 2>&1 </dev/null && return
        done
    done
}
index=${TORCH_INDEX:-$(cat .venv/.stamp 2>/dev/null || :)}
if [ ! -f .venv/.stamp ] || [ "$index" != "$(cat .venv/.stamp)" ] ||
    ! .venv/bin/python -c '' 2>/dev/null; then
    set -- python3.13 python3.12 python3.11 python3.14 python3
    [ -z "${PYTHON:-}" ] || set -- "$PYTHON"
    if ! choose "$@" && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "setup: installing python3-venv with apt"
        apt-get update >/dev/null && apt-get install -y python3-venv </dev/null >/dev/null || :
    fi
    choose "$@" || { echo "setup: no Python 3.11 or newer that has venv and that all users can" \
        "execute, among: $*; name one: make setup PYTHON=FILE" >&2 && exit 2; }
    if [ -n "${GIVEN:-}" ]; then "$python" -m tools.make setup; fi
    echo "setup: creating .venv with $python" && rm -rf .venv
    "$python" -m venv ${uv:+--without-pip} .venv
fi
trap '[ $? = 0 ] || echo "setup: failed, see above; the next make setup starts over" >&2' EXIT
rm -f .venv/.stamp
case $(uname):$index in Linux:) size="3 GB (0.5 GB: see docs/setting-up.md)" ;; *) size="0.5 GB" ;; esac
echo "setup: installing the pinned packages: a download of $size, unless uv has cached them"
if [ -z "$uv" ]; then
    uv=.venv/bin/uv
    [ -x $uv ] || .venv/bin/python -m pip --quiet install -c constraints.txt uv
    # uv reads none of pip's settings: pass on from where this machine gets its packages.
    setting() { .venv/bin/python -m pip config list | sed -nE "s/^.*\.$1='(.*)'\$/\1/p" | sed q; }
    export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX-$(setting index-url)}"
    export UV_INDEX="${UV_INDEX-$(setting extra-index-url)}" UV_INDEX_STRATEGY=unsafe-best-match
    export UV_FIND_LINKS="${UV_FIND_LINKS-$(setting find-links)}" UV_SYSTEM_CERTS=1
fi
install() { "$uv" pip install --python .venv/bin/python --compile-bytecode "$@"; }
# Such an index has few packages but torch. --index is for those that uv's configuration puts first.
[ -z "$index" ] || install --no-deps --default-index "$index" --index "$index" -c constraints.txt \
    "$(grep '^torch[^a-z]' requirements.txt)"
install -r requirements-staff.txt
.venv/bin/python -c "import matplotlib.font_manager" 2>/dev/null || : # workers copy its font list
chmod -R a+rX .venv # uv links files from its cache, with the permissions they had there
printf '%s\n' "$index" >.venv/.stamp
echo "setup: done"
