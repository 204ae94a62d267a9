"""Install the Debian packages of apt.txt that are missing, where this user may do so.

    python -m tools.apt

Quiet when nothing is missing. What can't be installed is no error here: the tests that need it
say so (tests/conftest.py).
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def listed(text: str) -> list[str]:
    """Packages named in a text like apt.txt: one a line, `#` starts a comment."""
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


def main() -> int:
    """Install what is missing as root with apt; elsewhere do nothing."""
    if os.name != "posix" or os.geteuid() != 0 or not shutil.which("apt-get"):
        return 0
    packages = missing(listed((ROOT / "apt.txt").read_text(encoding="utf-8")))
    if packages:
        outcome = "installed" if install(packages) else "apt-get could not install"
        print(f"apt: {outcome} {', '.join(packages)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
