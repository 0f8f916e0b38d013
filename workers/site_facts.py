"""`site.json` of an exported attempt: what the site knows of the run and the attempt, and no record states.

The reader checks every value, because the file may be anybody's: a value of another type or beyond a limit makes the
whole file unreadable, with the name of the key. Times are Unix seconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self, get_args, get_origin, get_type_hints

FORMAT = 1
MAX_EVENTS = 10_000
MAX_TEXT = 100_000
BIG = 2**63


class BadSiteFacts(ValueError):
    """The file is not a site.json. The message names the key and its required form."""


@dataclass(frozen=True)
class SourceFacts:
    """The file of another program that the run was read from, as `runs.models.Import` has it."""

    kind: str
    name: str
    sha256: str
    bytes: int
    part: int
    records: int


@dataclass(frozen=True)
class ProgramFacts:
    """The program that reported the run from elsewhere, as `runs.models.ExternalRun` has it."""

    program: str
    host: str
    command: str
    lost_after_seconds: float
    git: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RunFacts:
    """A run as its site shows it. `series_origin`: who measured its series, as `runs.metrics.origins_of` names it.

    `parent`: uid of the training that it evaluates or examines, empty if there is none; `sweep`: the sweep's name.
    """

    uid: str
    name: str
    method: str
    seed: int
    state: str
    series_origin: str
    preset: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()
    parent: str = ""
    parent_step: int | None = None
    sweep: str = ""
    cell: dict[str, Any] | None = None
    estimated_seconds: float | None = None
    source: SourceFacts | None = None
    external: ProgramFacts | None = None


@dataclass(frozen=True)
class AttemptFacts:
    """One attempt. `resumed_attempt` and `resumed_step`: the checkpoint that it resumed from; None for a start.

    `code`: the identity of its code, the fields of `workers.code.Code`; None if it is not known.
    """

    n: int
    origin: str
    state: str
    reason: str = ""
    native_id: str = ""
    native_state: str = ""
    exit_code: int | None = None
    exit_signal: int | None = None
    phase: str = ""
    phase_message: str = ""
    progress: float | None = None
    resumed_attempt: int | None = None
    resumed_step: int | None = None
    started_at: float | None = None
    ended_at: float | None = None
    code: dict[str, Any] | None = None


@dataclass(frozen=True)
class EventFacts:
    """An event of the attempt: a change of its state, an alert of the run."""

    at: float
    level: str
    why: str
    from_state: str = ""
    to_state: str = ""


@dataclass(frozen=True)
class SiteFacts:
    """The whole file. `records`: `files` if the records are the run's own files, `rows` if the site wrote them anew
    from its rows: then their `seq` is new, and their `t` is that of the metric before them."""

    run: RunFacts
    attempt: AttemptFacts
    records: str
    events: tuple[EventFacts, ...] = ()
    format: int = FORMAT

    def to_json(self) -> dict[str, Any]:
        """Return the file's content."""
        return {"format": self.format, **{name: value for name, value in asdict(self).items() if name != "format"}}

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Read the file's content. Raise BadSiteFacts."""
        if not isinstance(data, Mapping):
            raise BadSiteFacts("site.json must hold a JSON object")
        number = data.get("format")
        if not isinstance(number, int) or isinstance(number, bool) or number != FORMAT:
            raise BadSiteFacts(f"format must be {FORMAT}; {str(number)[:20]!r} may be of a newer esweb")
        facts: Self = build_facts(cls, data, "")
        if len(facts.events) > MAX_EVENTS:
            raise BadSiteFacts(f"events has {len(facts.events)} entries; at most {MAX_EVENTS} are read")
        return facts


def build_facts(cls: Any, data: Mapping[str, Any], path: str = "") -> Any:
    """Return an object of a class of plain fields. Keys that a later version adds are left out. Raise BadSiteFacts."""
    hints, values = get_type_hints(cls), {}
    for part in fields(cls):
        if part.name in data:
            values[part.name] = _read(hints[part.name], data[part.name], f"{path}{part.name}")
    try:
        return cls(**values)
    except TypeError as error:
        missing = [part.name for part in fields(cls) if part.name not in values]
        raise BadSiteFacts(f"{path.rstrip('.') or 'site.json'} lacks one of {', '.join(missing)}") from error


def _read(hint: Any, value: Any, path: str) -> Any:
    parts = get_args(hint)
    if type(None) in parts:
        return None if value is None else _read(parts[0], value, path)
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise BadSiteFacts(f"{path} must be a list")
        return tuple(_read(parts[0], item, f"{path}[{number}]") for number, item in enumerate(value))
    if get_origin(hint) is dict:
        return dict(_of_type(Mapping, value, path, "an object"))
    if hint is str:
        text = _of_type(str, value, path, "a text")
        if len(text) > MAX_TEXT:
            raise BadSiteFacts(f"{path} has {len(text)} characters; at most {MAX_TEXT} are read")
        return text
    if hint is bool:
        if not isinstance(value, bool):
            raise BadSiteFacts(f"{path} must be true or false")
        return value
    if hint is int:
        whole = _of_type(int, value, path, "a whole number")
        if not -BIG <= whole < BIG:
            raise BadSiteFacts(f"{path} must fit 64 bits")
        return whole
    if hint is float:
        return _number(value, path)
    return build_facts(hint, _of_type(Mapping, value, path, "an object"), f"{path}.")


def _number(value: Any, path: str) -> float:
    number = _of_type(int | float, value, path, "a number")
    try:
        if math.isfinite(number):
            return float(number)
    except OverflowError:
        pass
    raise BadSiteFacts(f"{path} must be a finite number")


def _of_type(kind: Any, value: Any, path: str, words: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadSiteFacts(f"{path} must be {words}, not {str(value)[:40]!r}")
    return value
