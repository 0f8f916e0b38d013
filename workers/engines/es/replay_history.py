"""Reads the replay logs of a run's attempts: which updates led to a step, one after another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workers.engines.constraint import multiplier_of
from workers.engines.es.lineage import NoiseKind, Origin, next_lineage
from workers.engines.es.replay_log import FILE, VERSION, Start, Update

ATTEMPT = re.compile(r".+-a(\d+)")


class CannotReplay(ValueError):
    """The weights of that step cannot be rebuilt to the bit. The message says why."""


@dataclass(frozen=True)
class Written:
    """An update, and the start of the training under which it was written."""

    update: Update
    start: Start


@dataclass(frozen=True)
class Trail:
    """The updates to a step, oldest first. They go on from the lineage `begin`: the origin's, or that of a gap."""

    origin: Origin
    base_path: Path
    begin: str
    written: Sequence[Written]

    @property
    def is_whole(self) -> bool:
        """True where it begins with the base model."""
        return self.begin == self.origin.lineage()

    @property
    def end(self) -> str:
        """The lineage that it leads to."""
        return self.written[-1].update.lineage if self.written else self.begin


@dataclass
class History:
    """All that the logs say: starts in order, updates by their lineage, the lineages of each step, latest last."""

    starts: list[Start] = field(default_factory=list)
    updates: dict[str, Written] = field(default_factory=dict)
    steps: dict[int, list[str]] = field(default_factory=dict)

    def add(self, update: Update) -> None:
        """Takes in the next line; where a lineage comes again, its place is that of the later line."""
        self.updates[update.lineage] = Written(update, self.starts[-1])
        lineages = self.steps.setdefault(update.step, [])
        if update.lineage in lineages:
            lineages.remove(update.lineage)
        lineages.append(update.lineage)

    def trail(self, step: int) -> Trail:
        """What led to the latest weights of a step; step 0 is the base model. Raises CannotReplay for no such step."""
        if step != 0 and step not in self.steps:
            raise CannotReplay(f"step {step} is not in the run's replay log, which holds {self._range()}")
        lineage = self.steps[step][-1] if step else self.starts[-1].origin.lineage()
        start = self.updates[lineage].start if step else self.starts[-1]
        written = []
        while lineage in self.updates:
            written.append(self.updates[lineage])
            lineage = written[-1].update.parent
        return Trail(start.origin, Path(start.base_path), lineage, written[::-1])

    def updates_between(self, begin: str, end: str) -> list[Written]:
        """Return the updates from one lineage to another, oldest first. Raise CannotReplay if the log has a gap."""
        written: list[Written] = []
        lineage = end
        while lineage != begin:
            if lineage not in self.updates:
                raise CannotReplay(f"the replay log has a gap: no line here made the weights of lineage {lineage}")
            written.append(self.updates[lineage])
            lineage = written[-1].update.parent
        return written[::-1]

    def _range(self) -> str:
        """`the steps 0 to 4, 6 to 20`."""
        steps = [0, *sorted(self.steps)]
        firsts = [s for s in steps if s - 1 not in steps]
        lasts = [s for s in steps if s + 1 not in steps]
        return "the steps " + ", ".join(f"{a} to {b}" if b > a else str(a) for a, b in zip(firsts, lasts, strict=True))


def attempts_of(root: Path) -> list[Path]:
    """The directories of a run's attempts in their order; or the one directory, where it is an attempt's itself."""
    if (root / FILE).exists() or any(root.glob("records.*.jsonl")):
        return [root]
    numbered = ((ATTEMPT.fullmatch(folder.name), folder) for folder in root.glob("*-a*") if folder.is_dir())
    found = [folder for _, folder in sorted((int(match[1]), folder) for match, folder in numbered if match)]
    if not found:
        raise CannotReplay(f"{root} holds neither the attempts of a run (folders …-a1, …-a2) nor a {FILE}")
    return found


def stored_rows(directory: Path) -> int:
    """Return the rows of a batch in a run whose newest attempt has this directory; 0 if no attempt has stored them."""
    name = ATTEMPT.fullmatch(directory.name)
    run = directory.name.removesuffix(f"-a{name[1]}") if name else ""
    attempts = [d for d in attempts_of(directory.parent) if d.name.startswith(f"{run}-a")] if name else [directory]
    lines = (line for attempt in attempts for line in _lines(attempt / FILE) if "start" in line)
    return next((rows for line in lines if isinstance(rows := line.get("rows"), int) and rows > 0), 0)


def history_of(attempts: Sequence[Path]) -> History:
    """All that the attempts' logs say. Torn lines are passed over. Raises CannotReplay where there is no log."""
    history = History()
    for attempt in attempts:
        for line in _lines(attempt / FILE):
            if "start" in line:
                history.starts.append(_start(line, attempt / FILE))
            elif history.starts and (update := _update(line, history.starts[-1].noise)):
                history.add(update)
    if not history.starts:
        raise CannotReplay(_why_none(attempts))
    return history


def _lines(log: Path) -> Iterator[dict[str, Any]]:
    """The lines that are whole; a kill may have torn one, which no later line goes on from."""
    if not log.exists():
        return
    for raw in log.read_bytes().split(b"\n"):
        try:
            line = json.loads(raw)
        except ValueError:
            continue
        if isinstance(line, dict):
            yield line


def _start(line: dict[str, Any], log: Path) -> Start:
    if (found := line.get("log_version", 1)) != VERSION:
        raise CannotReplay(f"{log} is of version {found} of this log; this code reads version {VERSION}")
    try:
        return Start(**line | {"origin": Origin(**line["origin"]), "noise": NoiseKind(**line["noise"])})
    except (KeyError, TypeError) as error:
        raise CannotReplay(f"{log} is damaged: the line of a start cannot be read: {error}") from error


def _update(line: dict[str, Any], noise: NoiseKind) -> Update | None:
    """None for a line that is not as it was written: its lineage says so."""
    try:
        read = {"seeds": tuple(line["seeds"]), "weights": tuple(line["weights"])}
        update = Update(**line | read | {"multiplier": multiplier_of(line.get("multiplier"))})
        is_intact = update.lineage == next_lineage(update.parent, update.step, noise, update.directions)
    except (KeyError, TypeError, ValueError):
        return None
    return update if is_intact else None


def _why_none(attempts: Sequence[Path]) -> str:
    methods = {_method(attempt / "run.json") for attempt in attempts}
    if methods & {"grpo", "evaluate", "probe"}:
        return f"{attempts[0].parent} is a run of GRPO, whose updates cannot be rebuilt: only ES runs have a replay log"
    return f"there is no {FILE} in {', '.join(map(str, attempts))}: no ES run has begun to train there"


def _method(config: Path) -> str | None:
    try:
        return str(json.loads(config.read_bytes())["method"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
