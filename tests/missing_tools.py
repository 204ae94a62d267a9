"""A pytest plugin: tests whose tool is missing are skipped, and the summary names the tool.

`@pytest.mark.requires_tool("pdftotext")` skips a test where that program is not on PATH. With
CI=true the test fails instead: there, everything must run. `apt.txt` names Debian's packages.
"""

import os
import shutil

import pytest

MISSING = "missing tool"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "requires_tool(name): needs this program on PATH")


@pytest.hookimpl(tryfirst=True)  # before the test's fixtures, which may need the tool
def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("requires_tool"):
        (name,) = mark.args
        if shutil.which(name):
            continue
        # Properties of a test travel with its report from xdist's workers.
        item.user_properties.append((MISSING, name))
        if os.environ.get("CI") == "true":
            pytest.fail(f"{name} is missing; with CI=true nothing is skipped", pytrace=False)
        pytest.skip(f"{name} is missing")


def pytest_terminal_summary(terminalreporter) -> None:
    missing: dict[str, list[str]] = {}
    for report in (*terminalreporter.getreports("skipped"), *terminalreporter.getreports("error")):
        for key, name in getattr(report, "user_properties", ()):  # reports of collection have none
            if key == MISSING:
                missing.setdefault(name, []).append(report.nodeid)
    for name, tests in sorted(missing.items()):
        terminalreporter.write_line(
            f"missing tool: {name}, needed by {len(tests)} test(s) such as {tests[0]}; "
            "apt.txt names Debian's packages"
        )
