"""What README and guides send a reader to is there: pages and their headings, commands of manage.py, Python modules."""

from __future__ import annotations

import re
import subprocess
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from django.core.management import get_commands

ROOT = Path(__file__).parents[1]
LISTED = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
PAGES = sorted(ROOT / name for name in LISTED.stdout.split())
LINK = re.compile(r"\]\((?!\w+:)([^)#]*)(?:#([^)]*))?\)")
NOT_OURS = {"venv", "compileall"}
HOLDS = {
    "a knob of GRPO": "class GrpoConfig",
    "the KL estimator": "def kl_per_token",
    "who may see a run": "def visible_to",
    "the text of a button on the launch page": '{% translate "Launch" %}</button>',
    "retry after a lost node": "def plan_restart",
    "the λ rule": "ln λ",
    "how α is computed": "def alpha",
    "what a push token may do": "GRANTS =",
    "the compaction of series": "def compact",
    "the time limit of a regular expression": "statement_timeout",
    "how a sweep is extended": "def extend_sweep",
    "the colours of ES and GRPO": "--grpo:",
}
"""What the table of the architecture sends a reader to, and what its file must hold."""


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


def test_architecture_names_the_file_of_each_of_these() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = dict(re.findall(r"^\| ([^|]+) \| `([\w./-]+)` \|$", text, re.MULTILINE))
    files = {what: (ROOT / named[what]).read_text(encoding="utf-8") for what in HOLDS}
    assert [what for what, holds in HOLDS.items() if holds not in files[what]] == []


def test_architecture_names_every_package_of_an_app() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    found = text[text.index("## Features") : text.index("## Where things are")]
    for app in ("runs", "judging"):
        packages = {path.name for path in (ROOT / app).iterdir() if (path / "__init__.py").is_file()}
        assert packages - {"migrations", "management", "templatetags"} <= set(re.findall(r"`(\w+)`", found)), app


@pytest.mark.parametrize("document", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=str)
def test_every_path_of_the_code_that_a_page_names_is_there(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    paths = re.findall(r"`((?:runs|judging|esweb|workers|tests|templates|static|benchmarks)/[\w./-]+)`", text)
    modules = re.findall(r"`((?:runs|judging|esweb|workers|tests)(?:\.[a-z_]+)+)`", text)
    missing = [path for path in paths if not ((ROOT / path).exists() or (ROOT / f"{path}.py").exists())]
    assert missing + [name for name in modules if not _is_there(name)] == []


def _is_there(name: str) -> bool:
    """Return whether this is a module, or a name in one."""
    package, _, leaf = name.rpartition(".")
    try:
        return find_spec(name) is not None or hasattr(import_module(package), leaf)
    except ModuleNotFoundError:
        return package.count(".") > 0 and hasattr(import_module(package), leaf)
