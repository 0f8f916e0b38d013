""".env.example lists exactly the variables that settings read."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_variable_that_settings_read_is_listed_and_no_other() -> None:
    settings = (ROOT / "esweb" / "settings.py").read_text()
    example = (ROOT / ".env.example").read_text()
    read = set(re.findall(r'env\.\w+\("(\w+)"', settings))
    listed = set(re.findall(r"^# (\w+)=", example, re.MULTILINE))
    assert read == listed


def test_variables_that_may_be_files_are_marked() -> None:
    settings = (ROOT / "esweb" / "settings.py").read_text()
    example = (ROOT / ".env.example").read_text()
    secrets = set(re.findall(r'env\.secret\("(\w+)"', settings))
    assert secrets == set(re.findall(r"^# (\w+)=.*# \(secret\)", example, re.MULTILINE))
