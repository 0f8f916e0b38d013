"""Diagnosis of a job's log: a sentence that explains why the job ended, and the line that it was read from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from workers.executors.failures import Failures, Sign

TAIL_BYTES = 64 * 1024
LINE = 300
OWN_PATTERNS = (
    (r"esweb job: the module (\S+) was not loaded|[Uu]nable to locate a modulefile|module(\(s\))? (is|are) unknown",
     "a module of the cluster's config was not loaded: see modules"),
    (r"module: command not found", "the cluster has no environment modules: remove modules from its config"),
    (r"No module named '?workers", "the node cannot access esweb's code: see project in the cluster's config"),
    # `env` writes its name, and then what is wrong: another's line may come in between.
    (r"(?:(?m:^)(?>.*?env: ).*|^[‘'][^’']+[’']: )(?:No such file or directory|Permission denied)",
     "the interpreter is not on the node: see python in the cluster's config"),
    (r"(?m:^)(?>.*?esweb agent: ).*spec\.json is missing|esweb job: its directory is not there",
     "the node cannot access the job's folder"),
)  # fmt: skip
"""Pattern and sentence of messages that only a job of esweb prints; each is searched from the log's end upward."""


def diagnose(*logs: Path) -> str:
    """Return a sentence with the line behind it, from the first log that holds a sign; empty if none does."""
    return next((text for log in logs if (text := explain(tail(log), log.name))), "")


def explain(lines: Sequence[str], source: str = "") -> str:
    """Return the same as `diagnose` for lines of a log that is called `source`."""
    for pattern, sentence in OWN_PATTERNS:
        if line := next((line for line in reversed(lines) if re.search(pattern, line)), ""):
            return _format(sentence, line.strip()[:LINE], source)
    sign = strongest_sign(lines)
    return "" if sign is None else _format(": ".join(filter(None, (sign.meaning, sign.advice))), sign.shortened, source)


def strongest_sign(lines: Sequence[str]) -> Sign | None:
    """Return the sign that explains best why the job ended; None if there is none."""
    failures = Failures()
    for number, line in enumerate(lines, 1):
        failures.read(number, line)
    return failures.sign


def explain_message(words: str) -> str:
    """Return a program's last message, after its meaning and an advice if those are known."""
    sign = strongest_sign([words])
    return f"{sign.meaning}: {sign.advice} ({words})" if sign is not None and sign.advice else words


def _format(sentence: str, line: str, source: str) -> str:
    return f"{sentence} ({source}: {line})" if source else f"{sentence} ({line})"


def tail(log: Path) -> list[str]:
    """Return the last lines of a log, none if there is no log. Raise OSError."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
            return file.read().decode(errors="replace").replace("\x00", "").splitlines()
    except FileNotFoundError:
        return []
