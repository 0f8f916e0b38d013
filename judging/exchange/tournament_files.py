"""The tournaments of an experiment as files of its archive, and back.

A file holds what the tournament's page of files gives the same user: no judgment while the tournament takes votes,
unless the user manages it, and neither the seed nor the gold set before it is closed. Voters are numbered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from django.contrib.auth.models import User

from judging.access import may_manage, may_unblind
from judging.exchange.exporter import ExportOptions, export_lines, tournament_setup
from judging.exchange.importer import File, ImportResult, import_judgment_files
from judging.exchange.target import ImportTarget
from judging.models import Contestant, Tournament
from runs.models import Experiment, Run
from runs.models.experiment import Person

JUDGMENTS, SETUP = "judgments.jsonl", "setup.json"


@dataclass(frozen=True)
class ExportedTournament:
    """A tournament of an experiment, and whether the user may export its judgments. contestants: name -> uid of a run
    of the experiment."""

    tournament: Tournament
    contestants: dict[str, str]
    has_judgments: bool
    is_unblinded: bool

    def files(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the name and the content of each file."""
        setup = tournament_setup(self.tournament, unblinded=self.is_unblinded)
        yield SETUP, iter([json.dumps(setup, ensure_ascii=False, indent=1).encode()])
        if self.has_judgments:
            lines = export_lines(self.tournament, ExportOptions())
            yield JUDGMENTS, (line.encode() for line in lines)


def experiment_tournaments(experiment: Experiment, person: Person) -> list[ExportedTournament]:
    """Return the tournaments that this user sees, with a run of the experiment among their contestants."""
    rows = Contestant.objects.filter(run__experiment=experiment, run__deleted_at=None)
    tournaments = Tournament.objects.visible_to(person).filter(pk__in=rows.values("tournament")).order_by("pk")
    return [
        ExportedTournament(
            tournament,
            dict(rows.filter(tournament=tournament).order_by("place").values_list("name", "run__uid")),
            tournament.closed_at is not None or may_manage(person, tournament),
            may_unblind(person, tournament),
        )
        for tournament in tournaments
    ]


def import_tournament(
    owner: User, name: str, file: BinaryIO, runs: Mapping[str, Run], *, is_private: bool
) -> ImportResult:
    """Import the judgments of an exported tournament. runs: contestant's name -> its imported run."""
    result = import_judgment_files([File(JUDGMENTS, file)], ImportTarget(owner, name, is_private=is_private))
    if result.tournament is not None:
        for contestant in result.tournament.contestants.filter(run=None, name__in=list(runs)):
            # With a private run, users who may not see the run could not see the tournament either.
            if is_private or not runs[contestant.name].experiment.is_private:
                contestant.run = runs[contestant.name]
                contestant.save(update_fields=["run"])
    return result
