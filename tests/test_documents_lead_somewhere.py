"""What README and guides send a reader to is there: pages and their headings, commands of manage.py, Python modules."""

from __future__ import annotations

import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from django.core.management import get_commands

ROOT = Path(__file__).parents[1]
LISTED = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
PAGES = sorted(ROOT / name for name in LISTED.stdout.split())
LINK = re.compile(r"\]\((?!\w+:)([^)#]*)(?:#([^)]*))?\)")
NOT_OURS = {"venv", "compileall"}


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", PAGES, ids=lambda document: str(document.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_page_and_heading_that_there_is(document: Path) -> None:
    for name, anchor in LINK.findall(document.read_text(encoding="utf-8")):
        there = (document.parent / name).resolve() if name else document
        assert there.exists(), f"{name} is not there"
        assert not anchor or anchor in anchors(there), f"{name} has no heading {anchor}"


def test_every_guide_is_listed_among_the_guides() -> None:
    folder = ROOT / "docs" / "guides"
    listed = {name for name, _ in LINK.findall((folder / "README.md").read_text(encoding="utf-8"))}
    assert {page.name for page in folder.glob("*.md")} - {"README.md"} <= listed


def test_every_command_and_module_that_is_told_to_be_typed_is_there() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert set(re.findall(r"manage\.py ([a-z_]+)", text)) <= set(get_commands())
    modules = set(re.findall(r"python3? -m ([a-z_.]+[a-z_])", text)) - NOT_OURS
    assert [module for module in sorted(modules) if find_spec(module) is None] == []
