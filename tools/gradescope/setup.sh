#!/usr/bin/env bash
# Builds the autograder's image on Gradescope: an interpreter that every user can execute (tests run
# as users of their own), and the pinned packages. The base image, Ubuntu 22.04, keeps its python3,
# which is 3.10. Afterwards nothing needs the network.
#
# Environment, for the emulator and tests: PROBLEM_SET_HOME, where to install (default
# /opt/problem-set); PYTHON_FOLDERS, where a suitable Python may already be.
# Exit codes: 0 done, 1 something could not be installed.
set -euo pipefail
umask 022
home=${PROBLEM_SET_HOME:-/opt/problem-set}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ -f "$here/source/requirements-autograder.txt" ]; then here=$here/source; fi # its copy, above
version=@PYTHON@ # gradescope_python in assignment.toml: one Python, whatever the image has
torch_index=https://download.pytorch.org/whl/cpu

fail() {
    echo "setup.sh: $*" >&2
    exit 1
}

# Checks for that version, with venv, outside root's own folders.
usable() {
    "$1" -I -c 'import sys, venv, ensurepip; sys.exit("%d.%d" % sys.version_info[:2] != sys.argv[1])' \
        "$version" 2>/dev/null &&
        case $(readlink -f "$1") in /root/*) false ;; esac
}

find_python() {
    for folder in ${PYTHON_FOLDERS-/usr/local/bin /usr/bin}; do
        if [ -x "$folder/python$version" ] && usable "$folder/python$version"; then
            echo "$folder/python$version"
            return
        fi
    done
}

python=$(find_python)
if [ -z "$python" ]; then
    echo "setup.sh: fetching Python $version with uv"
    if ! command -v pip3 >/dev/null; then
        apt-get update && apt-get install -y --no-install-recommends python3-pip
    fi
    pip3 install --quiet --target "$home/uv" uv || fail "uv can't be installed"
    PYTHONPATH=$home/uv python3 -m uv python install --no-bin --install-dir "$home/python" "$version" ||
        fail "uv can't fetch Python $version"
    python=$(find "$home/python" -path "*/bin/python$version" | head -n 1)
    usable "$python" || fail "uv's Python does not run: ${python:-none was installed}"
fi
echo "setup.sh: $("$python" --version) at $python"

rm -rf "$home/venv"
"$python" -m venv "$home/venv"
pip() {
    "$home/venv/bin/python" -m pip --disable-pip-version-check --quiet install \
        -c "$here/constraints.txt" "$@"
}
# The default index has torch with 2.7 GB of CUDA libraries: slower to download, but it works.
torch=$(grep '^torch[^a-z]' "$here/requirements.txt")
pip --no-deps --index-url "$torch_index" "$torch" ||
    echo "setup.sh: can't reach PyTorch's index; installing torch from the default one"
pip -r "$here/requirements-autograder.txt" || fail "the packages can't be installed"

# Tests that import matplotlib get a copy of its list of fonts, which takes a second to make.
"$home/venv/bin/python" -c "import matplotlib.font_manager" 2>/dev/null ||
    echo "setup.sh: there is no list of fonts; tests that import matplotlib will take longer"

# Import torch as another user, as tests do, to find folders that others can't enter before grading.
chmod -R a+rX "$home"
"$home/venv/bin/python" - <<'EOF' || fail "other users can't run the interpreter"
import os, sys
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
os.chdir("/")
os.execv(sys.executable, [sys.executable, "-c", "import torch; print('torch', torch.__version__)"])
EOF
echo "setup.sh: done"
