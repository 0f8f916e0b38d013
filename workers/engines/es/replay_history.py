"""Reader of the replay logs of a run's attempts: the updates that led to a step, one after another."""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from workers.checkpoint_folders import ATTEMPT
from workers.config.es_noise import NOISES
from workers.engines.constraint import parse_multiplier
from workers.engines.es.lineage import NoiseKind, Origin, next_lineage
from workers.engines.es.replay_log import FILE, VERSION, Start, Update


class CannotReplay(ValueError):
    """The weights of that step cannot be rebuilt to the bit. The message gives the reason."""


@dataclass(frozen=True)
class LoggedUpdate:
    """An update, and the start of the training under which it was logged."""

    update: Update
    start: Start


@dataclass(frozen=True)
class Trail:
    """The updates to a step, oldest first. They begin at the lineage `begin`: the origin's, or that of a gap."""

    origin: Origin
    base_path: Path
    begin: str
    written: Sequence[LoggedUpdate]

    @property
    def is_whole(self) -> bool:
        """Return whether the trail begins with the base model."""
        return self.begin == self.origin.lineage()

    @property
    def end(self) -> str:
        """Return the lineage after the last update."""
        return self.written[-1].update.lineage if self.written else self.begin


@dataclass
class History:
    """Contents of the logs: starts in order, updates by their lineage, the lineages of each step, latest last."""

    starts: list[Start] = field(default_factory=list)
    updates: dict[str, LoggedUpdate] = field(default_factory=dict)
    steps: dict[int, list[str]] = field(default_factory=dict)

    def add(self, update: Update) -> None:
        """Add the next line; if a lineage comes again, its position is that of the later line."""
        self.updates[update.lineage] = LoggedUpdate(update, self.starts[-1])
        lineages = self.steps.setdefault(update.step, [])
        if update.lineage in lineages:
            lineages.remove(update.lineage)
        lineages.append(update.lineage)

    def trail(self, step: int) -> Trail:
        """Return what led to the latest weights of a step; 0 is the base model. Raise CannotReplay for others."""
        if step != 0 and step not in self.steps:
            raise CannotReplay(f"step {step} is not in the run's replay log, which holds {self._range()}")
        lineage = self.steps[step][-1] if step else self.starts[-1].origin.lineage()
        start = self.updates[lineage].start if step else self.starts[-1]
        written = []
        while lineage in self.updates:
            written.append(self.updates[lineage])
            lineage = written[-1].update.parent
        return Trail(start.origin, Path(start.base_path), lineage, written[::-1])

    def _range(self) -> str:
        """Return the known steps, such as `the steps 0 to 4, 6 to 20`."""
        steps = [0, *sorted(self.steps)]
        firsts = [s for s in steps if s - 1 not in steps]
        lasts = [s for s in steps if s + 1 not in steps]
        return "the steps " + ", ".join(f"{a} to {b}" if b > a else str(a) for a, b in zip(firsts, lasts, strict=True))


def attempts_of(root: Path) -> list[Path]:
    """Return the directories of a run's attempts in their order; or only `root`, if it is an attempt's directory
    itself."""
    if (root / FILE).exists() or any(root.glob("records.*.jsonl")):
        return [root]
    numbered = ((ATTEMPT.fullmatch(folder.name), folder) for folder in root.glob("*-a*") if folder.is_dir())
    attempts = [folder for _, folder in sorted((int(match[2]), folder) for match, folder in numbered if match)]
    if not attempts:
        raise CannotReplay(f"{root} contains neither the attempts of a run (folders …-a1, …-a2) nor a {FILE}")
    return attempts


def stored_rows(directory: Path, origin: Origin) -> int:
    """Return the rows of a batch that the attempts of a run have stored so far; 0 if none has.

    `directory` is that of the newest attempt. The others are in the same parent folder, and began with the same
    weights.
    """
    directory, begins = directory.resolve(), json.loads(json.dumps(asdict(origin)))
    name = ATTEMPT.fullmatch(directory.name)
    siblings = ((ATTEMPT.fullmatch(folder.name), folder) for folder in directory.parent.iterdir()) if name else ()
    attempts = [folder for match, folder in siblings if name and match and match[1] == name[1]] or [directory]
    logs = [log for log in (attempt / FILE for attempt in attempts) if log.is_file() and os.access(log, os.R_OK)]
    starts = (line for log in logs for line in _lines(log) if line.get("origin") == begins)
    return next((rows for line in starts if isinstance(rows := line.get("rows"), int) and rows > 0), 0)


def updates_between(log: Path, noise: NoiseKind, begin: str, end: str) -> list[Update]:
    """Return the updates from one lineage to another, oldest first. Raise CannotReplay if the log has a gap.

    The log is read from its end, and no further than needed.
    """
    updates: list[Update] = []
    lines = _lines_backwards(log)
    while end != begin:
        matches = (update for line in lines if (update := _update(line, noise)) and update.lineage == end)
        update = next(matches, None)
        if update is None:
            raise CannotReplay(f"{log} has a gap: no line in it made the weights of lineage {end}")
        updates.append(update)
        end = update.parent
    return updates[::-1]


def _lines_backwards(log: Path) -> Iterator[dict[str, Any]]:
    with log.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        end = len(data)
        while end > 0:
            start = data.rfind(b"\n", 0, end) + 1
            if (line := _parse(data[start:end])) is not None:
                yield line
            end = start - 1


def history_of(attempts: Sequence[Path]) -> History:
    """Return the contents of the attempts' logs, without torn lines. Raise CannotReplay if there is no log."""
    history = History()
    for attempt in attempts:
        for line in _lines(attempt / FILE):
            if "start" in line:
                history.starts.append(_start(line, attempt / FILE))
            elif history.starts and (update := _update(line, history.starts[-1].noise)):
                history.add(update)
    if not history.starts:
        raise CannotReplay(_no_log_reason(attempts))
    return history


def _lines(log: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines that are whole; a kill may have torn one, which no later line continues from."""
    if not log.exists():
        return
    for raw in log.read_bytes().split(b"\n"):
        if (line := _parse(raw)) is not None:
            yield line


def _parse(raw: bytes) -> dict[str, Any] | None:
    try:
        line = json.loads(raw)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


def _start(line: dict[str, Any], log: Path) -> Start:
    if (log_version := line.get("log_version", 1)) != VERSION:
        raise CannotReplay(f"{log} is of version {log_version} of this log; this code reads version {VERSION}")
    try:
        start = Start(**line | {"origin": Origin(**line["origin"]), "noise": NoiseKind(**line["noise"])})
    except (KeyError, TypeError) as error:
        raise CannotReplay(f"{log} is damaged: a start line cannot be read: {error}") from error
    if (kind := start.noise.kind) not in NOISES:
        raise CannotReplay(f"{log} has noise of kind {kind}, and this code makes {', '.join(NOISES)} only")
    return start


def _update(line: dict[str, Any], noise: NoiseKind) -> Update | None:
    """Return the update, or None for a line that was changed after it was written: its lineage does not match then."""
    try:
        read = {"seeds": tuple(line["seeds"]), "weights": tuple(line["weights"])}
        update = Update(**line | read | {"multiplier": parse_multiplier(line.get("multiplier"))})
        is_intact = update.lineage == next_lineage(update.parent, update.step, noise, update.directions, update.decay)
    except (KeyError, TypeError, ValueError):
        return None
    return update if is_intact else None


def _no_log_reason(attempts: Sequence[Path]) -> str:
    methods = {_method(attempt / "run.json") for attempt in attempts}
    if methods & {"grpo", "evaluate", "probe"}:
        return f"{attempts[0].parent} is a run of GRPO, whose updates cannot be rebuilt: only ES runs have a replay log"
    return f"there is no {FILE} in {', '.join(map(str, attempts))}: no ES run has begun to train there"


def _method(config: Path) -> str | None:
    try:
        return str(json.loads(config.read_bytes())["method"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
