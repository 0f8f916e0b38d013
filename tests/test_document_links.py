"""Targets in README and guides exist: pages and their headings, commands of manage.py, Python modules."""

from __future__ import annotations

import re
import subprocess
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from django.core.management import get_commands

from tests.cases import each_case

ROOT = Path(__file__).parents[1]
GIT_FILES = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
PAGES = sorted(ROOT / name for name in GIT_FILES.stdout.split())
LINK = re.compile(r"\]\((?!\w+:)([^)#]*)(?:#([^)]*))?\)")
FOREIGN_MODULES = {"sglang.launch_server", "venv", "compileall"}
EXPECTED_TEXTS = {
    "a setting of GRPO": "class GrpoConfig",
    "the KL estimator": "def kl_per_token",
    "permission to see a run": "def visible_to",
    "the text of a button on the launch page": '{% translate "Launch" %}</button>',
    "retry after a lost node": "def plan_restart",
    "the λ rule": "ln λ",
    "the computation of α": "def alpha",
    "the rights of a push token": "SCOPES =",
    "the compaction of series": "def compact",
    "the slots and the time limit of searches": "MAX_SEARCH_SECONDS",
    "the limits of slow and of many clients": "PATIENCE_SECONDS",
    "the limits of WebSockets": "MAX_SOCKETS",
    "the extension of a sweep": "def extend_sweep",
    "the colours of ES and GRPO": "--grpo:",
}
"""Subjects in the table of the architecture, and a text that the named file must contain."""


def heading_anchors(page: Path) -> set[str]:
    """Return GitHub's anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_case("document", PAGES, ids=lambda document: str(document.relative_to(ROOT)))
def test_links_lead_to_existing_pages_and_headings(document: Path) -> None:
    for name, anchor in LINK.findall(document.read_text(encoding="utf-8")):
        target = (document.parent / name).resolve() if name else document
        assert target.exists(), f"{name} is not there"
        assert not anchor or anchor in heading_anchors(target), f"{name} has no heading {anchor}"


def test_guides_index_lists_every_guide() -> None:
    folder = ROOT / "docs" / "guides"
    listed = {name for name, _ in LINK.findall((folder / "README.md").read_text(encoding="utf-8"))}
    assert {page.name for page in folder.glob("*.md")} - {"README.md"} <= listed


def test_documented_commands_and_modules_exist() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert set(re.findall(r"manage\.py ([a-z_]+)", text)) <= set(get_commands())
    modules = set(re.findall(r"python3? -m ([a-z_.]+[a-z_])", text)) - FOREIGN_MODULES
    assert [module for module in sorted(modules) if find_spec(module) is None] == []


def test_architecture_names_files_with_expected_texts() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    paths = dict(re.findall(r"^\| ([^|]+) \| `([\w./-]+)` \|$", text, re.MULTILINE))
    files = {subject: (ROOT / paths[subject]).read_text(encoding="utf-8") for subject in EXPECTED_TEXTS}
    assert [subject for subject, expected in EXPECTED_TEXTS.items() if expected not in files[subject]] == []


def test_architecture_lists_every_app_package() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    features = text[text.index("## Features") : text.index("## Where things are")]
    for app in ("runs", "judging"):
        packages = {path.name for path in (ROOT / app).iterdir() if (path / "__init__.py").is_file()}
        assert packages - {"migrations", "management", "templatetags"} <= set(re.findall(r"`(\w+)`", features)), app


@each_case("document", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=str)
def test_documented_code_paths_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    paths = re.findall(r"`((?:runs|judging|esweb|workers|tests|templates|static|benchmarks)/[\w./-]+)`", text)
    modules = re.findall(r"`((?:runs|judging|esweb|workers|tests)(?:\.[a-z_]+)+)`", text)
    missing = [path for path in paths if not ((ROOT / path).exists() or (ROOT / f"{path}.py").exists())]
    assert missing + [name for name in modules if not _exists(name)] == []


def _exists(name: str) -> bool:
    """Return whether this is a module, or a name in a module."""
    package, _, leaf = name.rpartition(".")
    try:
        return find_spec(name) is not None or hasattr(import_module(package), leaf)
    except ModuleNotFoundError:
        return package.count(".") > 0 and hasattr(import_module(package), leaf)
