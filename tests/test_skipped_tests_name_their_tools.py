"""The line at the end of `make test` about programs that this machine lacks."""

from __future__ import annotations

from tests.tools import not_installed, summary


def test_summary_counts_tests_of_each_missing_tool() -> None:
    reasons = [f"Skipped: {not_installed('Slurm', ' (no sbatch)')}"] * 2 + [not_installed("Chromium"), "no GPU here"]
    assert summary(reasons) == (
        "Skipped: 1 without Chromium, 2 without Slurm. `make test-tools` installs what is missing."
    )


def test_summary_is_empty_when_every_tool_is_installed() -> None:
    assert summary(["no GPU here"]) == ""
