"""Code blocks of the guides, with the marks in hidden comments above them.

The comment `<!-- needs: a GPU -->` directly above a block, with a reason of NEEDS, marks a block that cannot run on
every machine; `<!-- run by: tests/… -->` marks one that another test executes. A line that ends in "`name`:" above a
block says that the reader saves it under that name.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = {"sh", "python", "json", "text"}
"""Languages of blocks. A block of text is output, a synopsis or a drawing: nothing that is typed."""
NEEDS = {
    "a GPU", "a cluster", "Docker", "minutes", "another server", "a fixed port", "a system package",
    "a program of your own", "a change of the code", "a download", "a trained checkpoint",
}  # fmt: skip
"""All reasons for not executing a block."""
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- (needs|run by): ([^\n]+) -->\s*\Z")
SAVED_AS = re.compile(r"`([\w./-]+)`:\s*\Z")


@dataclass(frozen=True)
class Block:
    """A fenced block. `needs` and `run_by` are empty unless a comment says so, `saved_as` unless a sentence does."""

    page: Path
    line: int
    language: str
    text: str
    needs: str
    run_by: str
    saved_as: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def is_marked(self) -> bool:
        """Return whether a comment says why it is not executed here."""
        return bool(self.needs or self.run_by)


def list_pages() -> list[Path]:
    """Return README, CONTRIBUTING, and the pages of docs with instructions."""
    patterns = [
        "README.md",
        "CONTRIBUTING.md",
        "docker/README.md",
        "docs/*.md",
        "docs/guides/*.md",
        "docs/releases/*.md",
    ]
    result = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(ROOT / name for name in result.stdout.split("\0") if name)


def read_blocks(page: Path) -> list[Block]:
    """Return the page's fenced blocks in order."""
    text = page.read_text(encoding="utf-8")
    return [_read_block(page, text, match) for match in FENCE.finditer(text)]


def without_blocks(page: Path) -> str:
    """Return the page's running text."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def _read_block(page: Path, text: str, match: re.Match[str]) -> Block:
    before = text[: match.start()]
    mark = MARK.search(before)
    kind, reason = (mark[1], mark[2]) if mark else ("", "")
    saved_as = SAVED_AS.search(MARK.sub("", before))
    indent = match[1]
    content = "".join(line.removeprefix(indent) for line in match[3].splitlines(keepends=True))
    return Block(
        page, before.count("\n") + 1, match[2], content,
        needs=reason if kind == "needs" else "", run_by=reason if kind == "run by" else "",
        saved_as=saved_as[1] if saved_as else "",
    )  # fmt: skip
