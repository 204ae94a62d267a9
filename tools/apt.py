"""Install the Debian packages of apt.txt that are missing, where this user may do so.

    python -m tools.apt             quiet when nothing is missing, or nothing can be done
    python -m tools.apt --loud      say so, and end with 1 when something stays missing

What can't be installed is no error of the first: the tests that need it say so
(tests/conftest.py).
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from .arguments import OneLineParser
from .telling import telling

ROOT = Path(__file__).resolve().parent.parent


def listed(text: str) -> list[str]:
    """Return the packages named in a text like apt.txt: one a line, `#` starts a comment."""
    names = (line.split("#")[0].strip() for line in text.splitlines())
    return [name for name in names if name]


def missing(packages: list[str]) -> list[str]:
    """Those of the packages that dpkg does not know as installed."""
    return [name for name in packages if not _installed(name)]


def _installed(package: str) -> bool:
    status = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Status}", package],
        capture_output=True,
        encoding="utf-8",
    )
    return status.stdout == "install ok installed"


def install(packages: list[str]) -> bool:
    """Install packages; False when apt-get failed."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update"],
        ["apt-get", "install", "--yes", "--no-install-recommends", *packages],
    ):
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True
        )
        if done.returncode:
            return False
    return True


def main(arguments: list[str] | None = None) -> int:
    """Install what is missing as root with apt; elsewhere do nothing."""
    parser = OneLineParser("python -m tools.apt", __doc__)
    parser.add_argument(
        "--loud", action="store_true", help="say what is done, and fail if it isn't"
    )
    loud = parser.parse_args(arguments).loud
    packages = listed((ROOT / "apt.txt").read_text(encoding="utf-8"))
    if os.name != "posix" or os.geteuid() != 0 or not shutil.which("apt-get"):
        words = "only root can, with apt-get: install what apt.txt names by other means: "
        return _end(loud, f"apt: nothing was installed; {words}{' '.join(packages)}", 1)
    packages = missing(packages)
    if not packages:
        return _end(loud, "apt: nothing is missing", 0)
    with telling(f"apt: installing {', '.join(packages)}"):
        installed = install(packages)
    outcome = "installed" if installed else "apt-get could not install"
    print(f"apt: {outcome} {', '.join(packages)}")
    return 1 if loud and not installed else 0


def _end(loud: bool, words: str, code: int) -> int:
    if loud:
        print(words)
    return code if loud else 0


if __name__ == "__main__":
    sys.exit(main())
