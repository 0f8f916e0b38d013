"""What a job's log says about why it ended: a sentence for a person, and the line that it was read from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from workers.executors.failures import Failures, Sign

TAIL_BYTES = 64 * 1024
LINE = 300
OURS = (
    (r"esweb job: the module (\S+) was not loaded|[Uu]nable to locate a modulefile|module(\(s\))? (is|are) unknown",
     "a module of the cluster's config was not loaded: see modules"),
    (r"module: command not found", "the cluster has no environment modules: leave modules out of its config"),
    (r"No module named '?workers", "the node does not see esweb's code: see project in the cluster's config"),
    # `env` writes its name, and then what is wrong: another's line may come in between.
    (r"(?:env: .*|^[‘'][^’']+[’']: )(?:No such file or directory|Permission denied)",
     "the node has no such interpreter: see python in the cluster's config"),
    (r"esweb agent: .*spec\.json is missing|esweb job: its directory is not there",
     "the node does not see the folder that holds its files"),
)  # fmt: skip
"""Pattern and sentence, of what only a job of esweb says; each is looked for from the log's end upward."""


def diagnose(*logs: Path) -> str:
    """A sentence with the line behind it, from the first log that holds a sign; empty where none does."""
    return next((said for log in logs if (said := explain(tail(log), log.name))), "")


def explain(lines: Sequence[str], source: str = "") -> str:
    """The same from lines of a log that is called `source`."""
    for pattern, sentence in OURS:
        if line := next((line for line in reversed(lines) if re.search(pattern, line)), ""):
            return _told(sentence, line.strip()[:LINE], source)
    sign = strongest(lines)
    return "" if sign is None else _told(": ".join(filter(None, (sign.words, sign.advice))), sign.shortened, source)


def strongest(lines: Sequence[str]) -> Sign | None:
    """The sign that says most of why it ended; None where there is none."""
    failures = Failures()
    for number, line in enumerate(lines, 1):
        failures.read(number, line)
    return failures.sign


def in_its_words(words: str) -> str:
    """A program's own last words, after what they mean and what to do about it, where that is known."""
    sign = strongest([words])
    return f"{sign.words}: {sign.advice} ({words})" if sign is not None and sign.advice else words


def _told(sentence: str, line: str, source: str) -> str:
    return f"{sentence} ({source}: {line})" if source else f"{sentence} ({line})"


def tail(log: Path) -> list[str]:
    """The last lines of a log, none where there is no log. Raises OSError."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
            return file.read().decode(errors="replace").replace("\x00", "").splitlines()
    except FileNotFoundError:
        return []
