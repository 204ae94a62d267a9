"""Install the missing Debian packages of apt.txt, if this user may do so.

    python -m tools.apt             print nothing if nothing is missing, or nothing can be done
    python -m tools.apt --loud      report that, and exit with 1 if a package is still missing

Without --loud, a package that can't be installed is not an error: the tests that need it report it
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
    """Return the packages named in a text like apt.txt, one per line; `#` starts a comment."""
    names = (line.split("#")[0].strip() for line in text.splitlines())
    return [name for name in names if name]


def missing(packages: list[str]) -> list[str]:
    """Return the packages that dpkg does not list as installed."""
    return [name for name in packages if not _installed(name)]


def _installed(package: str) -> bool:
    status = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Status}", package],
        capture_output=True,
        encoding="utf-8",
    )
    return status.stdout == "install ok installed"


def install(packages: list[str]) -> bool:
    """Install packages; return False if apt-get fails."""
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
    """Run the command: as root with apt-get, install what is missing; return the exit code."""
    parser = OneLineParser("python -m tools.apt", __doc__)
    parser.add_argument(
        "--loud",
        action="store_true",
        help="report what is done, and fail if a package is still missing",
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
