"""`esweb-experiment.json`: what an archive of an experiment holds beside the folders of its runs.

The file may be anybody's: every value is checked when it is read. Runs are named by the uids of the exporting site.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from workers.site_facts import BadSiteFacts, build_facts

FORMAT = 1
RUNS, LABELS, TOURNAMENTS = "runs", "labels", "tournaments"
"""Folders of the archive."""


@dataclass(frozen=True)
class SweepFacts:
    """A sweep. runs: the uids of its runs."""

    name: str
    base: dict[str, Any]
    seeds: tuple[int, ...]
    at_once: int
    preset: str = ""
    grid: dict[str, Any] = field(default_factory=dict)
    cells: tuple[dict[str, Any], ...] = ()
    is_paused: bool = False
    is_cancelled: bool = False
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class ViewFacts:
    """A saved view of the experiment's page."""

    name: str
    query: str
    is_shared: bool = False


@dataclass(frozen=True)
class LabelSetFacts:
    """A label set, whose labels are in `file`. unlabelled: responses without a label that may be exported."""

    file: str
    name: str
    readers: int = 2
    unlabelled: int = 0


@dataclass(frozen=True)
class TournamentFacts:
    """A tournament in `folder`. contestants: name -> uid of its run. has_judgments: False while others may vote."""

    folder: str
    name: str
    contestants: dict[str, Any] = field(default_factory=dict)
    has_judgments: bool = True
    is_private: bool = False


@dataclass(frozen=True)
class ExperimentFacts:
    """The whole file. layout: the cards of the exporting user's layout of the experiment's charts. thresholds: those of
    its flags that differ from the site's."""

    name: str
    question: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    archived_runs: tuple[str, ...] = ()
    sweeps: tuple[SweepFacts, ...] = ()
    views: tuple[ViewFacts, ...] = ()
    layout: tuple[str, ...] = ()
    thresholds: dict[str, Any] | None = None
    label_sets: tuple[LabelSetFacts, ...] = ()
    tournaments: tuple[TournamentFacts, ...] = ()
    format: int = FORMAT

    def to_json(self) -> dict[str, Any]:
        """Return the file's content."""
        return {"format": self.format, **{name: value for name, value in asdict(self).items() if name != "format"}}

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Read the file's content. Raise BadSiteFacts."""
        if not isinstance(data, Mapping):
            raise BadSiteFacts("it must hold a JSON object")
        if type(number := data.get("format")) is not int or number != FORMAT:
            raise BadSiteFacts(f"format must be {FORMAT}; {str(number)[:20]!r} may be of a newer esweb")
        facts: Self = build_facts(cls, data)
        return facts
