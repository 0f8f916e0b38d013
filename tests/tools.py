"""A pytest plugin that names, in one line at the end, the programs that skipped tests need beyond `make setup`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator

import pytest

TOOLS = ("Chromium", "OpenSSH", "Ray", "Slurm")
INSTALL = "make test-tools"


def not_installed(tool: str, detail: str = "") -> str:
    """Return the reason with which tests of a missing tool are skipped."""
    assert tool in TOOLS
    return f"{tool} is not installed{detail}: `{INSTALL}` installs it"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None, None, None]:
    # After the list of all skipped tests, where one sees it.
    yield
    reasons = [str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", [])]
    if line := summary(reasons):
        terminalreporter.write_line(line, yellow=True)


def summary(reasons: list[str]) -> str:
    """Return one line that counts the tests skipped for each missing tool; empty if none is missing."""
    counts = Counter(tool for reason in reasons for tool in TOOLS if f"{tool} is not installed" in reason)
    counts_text = ", ".join(f"{count} without {tool}" for tool, count in sorted(counts.items()))
    return f"Skipped: {counts_text}. `{INSTALL}` installs what is missing." if counts_text else ""
