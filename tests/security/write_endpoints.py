"""Every address at which a page changes what is everybody's, with a form that does; and whether anything did change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.apps import apps
from django.contrib.auth.models import Group, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.urls import reverse
from psycopg import sql

from judging.judges import Draft, make
from judging.models import Assignment, Criterion, Judge, Rubric, Tournament
from judging.tournaments import Draft as Made
from judging.tournaments import Entry
from judging.tournaments import make as make_tournament
from judging.voting import invite
from runs.experiments import trash
from runs.launching import rebuilds
from runs.launching.budgets import set_limit
from runs.launching.config_form import initial_from
from runs.launching.sweeps.commands import NewSweep, launch_sweep
from runs.models import Experiment, Import, Limit, Run, SavedView, Scoring, Sweep
from runs.service_registry.commands import Registration, register
from tests.runs import full_runs
from tests.runs.attempt_records import answer
from workers.config import preset
from workers.records import Member, Population


@dataclass(frozen=True)
class Things:
    """Who calls, what they made while they could, and somebody else."""

    caller: User
    experiment: Experiment
    going: Run
    stopped: Run
    binned: Run
    view: SavedView
    sweep: Sweep
    limit: Limit
    other: User
    tournament: Tournament
    rubric: Rubric


@dataclass(frozen=True)
class Write:
    """What is sent: what stands in the address, the form, and what the browser's session must hold already."""

    args: list[Any] = field(default_factory=list)
    form: Mapping[str, Any] = field(default_factory=dict)
    session: Mapping[str, Any] = field(default_factory=dict)

    def address(self, name: str) -> str:
        """Where it is sent, by the name of the route."""
        return reverse(name, args=self.args)


def things_of(owner: User) -> Things:
    """One of everything that the writes below need."""
    experiment = Experiment.objects.create(name="Concise", owner=owner)
    states = enumerate(("running", "interrupted", "failed"))
    going, stopped, binned = (full_runs.make_run(experiment, "es-micro", seed, state) for seed, state in states)
    full_runs.record(going, [Population(9, (Member(0, -1.0, z=1.0),))])
    rebuilds.rebuild_checkpoint(going, 3, owner)
    trash.delete_run(binned, owner)
    view = SavedView.objects.create(name="Mine", owner=owner, page="experiments")
    swept = NewSweep(base=preset("es-micro").config, grid={"es.sigma": [0.1]}, seeds=[0])
    sweep = launch_sweep(swept, experiment, owner)
    limit = set_limit(kind="gpu", period="month", hours=5.0, experiment=experiment)
    other = User.objects.create(username="other")
    tournament = Tournament.objects.create(name="Which?", owner=owner, seed=1)
    polite = Criterion.objects.create(slug="polite", owner=owner)
    rubric = Rubric.objects.create(criterion=polite, version=1, question="Which is more polite?", text="Says please.")
    return Things(owner, experiment, going, stopped, binned, view, sweep, limit, other, tournament, rubric)


def launch_form() -> dict[str, Any]:
    """A launch of the smallest preset."""
    filled = {k: v for k, v in initial_from(preset("es-micro").config).items() if v is not None and v is not False}
    return {"preset": "es-micro", "seeds": "0", "name": "", **filled}


def _launch(things: Things) -> Write:
    return Write([things.experiment.pk], launch_form())


def _undo(things: Things) -> Write:
    kept = {"experiment": things.experiment.pk, "do": "delete", "tag": "", "runs": [things.stopped.pk], "said": ""}
    return Write([things.experiment.pk], session={"undo": kept})


def _board(things: Things) -> Write:
    """A leaderboard, made otherwise."""
    things.tournament.rubrics.add(things.rubric)
    return Write([things.tournament.pk], A_BOARD)


def _tournament(things: Things) -> Write:
    """Of the two runs that have answered."""
    for run in (things.going, things.stopped):
        full_runs.record(run, [answer(1, "Madrid")])
    chosen = [f"{run.uid}:1:eval" for run in (things.going, things.stopped)]
    return Write(form=A_TOURNAMENT | {"contestant": chosen, "criteria": [things.rubric.pk]})


def _uninvite(things: Things) -> Write:
    ((invitation, _),) = invite(things.tournament, things.other, ["Dee"])
    return Write([things.tournament.pk, invitation.pk])


def _import_undo(things: Things) -> Write:
    Import.objects.create(run=things.stopped, kind="ES log", name="a.log", sha256="ab" * 32, bytes=1, part=0)
    return Write(form={"runs": things.stopped.uid})


def _judge(things: Things) -> Judge:
    return make(things.experiment.owner, Draft("Model", "http://127.0.0.1:9/v1", "m"))


def _assignment(things: Things) -> Assignment:
    owner = things.experiment.owner
    return Assignment.objects.create(judge=_judge(things), tournament=things.tournament, cap=1, created_by=owner)


def _put_to_work(things: Things) -> Write:
    """On a pair of answers that there is; of equal ones no judge is asked."""
    for run, city in ((things.going, "Madrid"), (things.stopped, "Lisbon")):
        full_runs.record(run, [answer(1, city)])
    entries = [Entry(run, 1, "eval") for run in (things.going, things.stopped)]
    made = make_tournament(things.experiment.owner, Made("Whose?", entries, [things.rubric], 1))
    return Write([made.pk], {"judge": _judge(things).pk, "rubrics": [things.rubric.pk], "cap": "1"})


def _scored(things: Things) -> Write:
    """By a scorer that has registered."""
    owner = things.experiment.owner
    register(owner, Registration("scorer", "beaver", "4f1c9a52e0b7", "http://127.0.0.1:9"))
    full_runs.record(things.stopped, [answer(1, "Madrid")])
    return Write([things.stopped.uid], {"scorer": "beaver"})


def _scoring(things: Things) -> Scoring:
    owner = things.experiment.owner
    return Scoring.objects.create(run=things.stopped, scorer="beaver", asked_by=owner)


ITERATION = b"Iteration 1/1, Time: 1.00s, Mean: -1.00, Min: -2.00, Max: 0.00, Std: 0.50\n"
A_LIMIT = {"person": "other", "experiment": "", "kind": "gpu", "hours": "5", "period": "all"}
A_BOARD = {
    "whose": "all", "identical": "left-out", "ties": "davidson", "swap": "as-is", "unit": "prompt", "level": "0.95",
    "prior": "0", "init": "1000", "k": "32", "shuffle": "123", "failed": "tie",
}  # fmt: skip
A_TOURNAMENT = {"name": "New", "prompts": "1", "seed": "0", "overlap": "1", "gold_every": "15"}
A_JUDGMENT = b'{"model_a": "ada", "model_b": "bo", "winner": "tie", "question_id": 1}'
A_GOLD_PAIR = b'{"prompt": "?", "response_a": "1", "response_b": "2", "expected": {"polite": "a"}}'
A_JUDGE = {
    "name": "Other", "base_url": "http://127.0.0.1:9/v1", "model": "m", "sampling": "{}", "max_tokens": "2048",
    "limited_by": "max_tokens", "answer_seconds": "5", "price_in": "0", "price_out": "0", "requests_per_minute": "0",
    "tokens_per_minute": "0", "at_once": "1",
}  # fmt: skip
WORDS = {"question": "Which is kinder?", "text": "Says thanks.", "scale_low": "1", "scale_high": "5"}
SHARED_VIEW = {"name": "All", "page": "experiments", "is_shared": "on"}
WRITES: dict[str, Callable[[Things], Write]] = {
    "experiments": lambda things: Write(form={"name": "New"}),
    "launch": _launch,
    "experiment-resume": lambda things: Write([things.experiment.pk]),
    "experiment-bulk": lambda things: Write([things.experiment.pk], {"do": "delete", "run": [things.stopped.uid]}),
    "experiment-undo": _undo,
    "experiment-edit": lambda things: Write([things.experiment.pk], {"name": "Other"}),
    "experiment-shelve": lambda things: Write([things.experiment.pk], {"do": "delete"}),
    "sweep-change": lambda things: Write([things.sweep.pk], {"do": "pause"}),
    "sweep-extend": lambda things: Write([things.sweep.pk], {"more-es.sigma": "", "more-seeds": "5"}),
    "queue-change": lambda things: Write([things.going.uid], {"do": "cancel"}),
    "run-cancel": lambda things: Write([things.going.uid]),
    "run-resume": lambda things: Write([things.stopped.uid]),
    "run-restore": lambda things: Write([things.binned.uid]),
    "run-checkpoints": lambda things: Write([things.going.uid], {"step": "5"}),
    "run-scores": _scored,
    "run-scoring-change": lambda things: Write([things.stopped.uid, _scoring(things).pk], {"do": "cancel"}),
    "run-rebuild-stop": lambda things: Write([things.going.uid, 3]),
    "import": lambda things: Write(form={"experiment": "New", "files": SimpleUploadedFile("a.log", ITERATION)}),
    "import-undo": _import_undo,
    "saved-views": lambda things: Write(form=SHARED_VIEW),
    "saved-view-change": lambda things: Write([things.view.pk], {"do": "share"}),
    "limit-set": lambda things: Write(form=A_LIMIT),
    "limit-remove": lambda things: Write([things.limit.pk]),
    "tournament-new": _tournament,
    "judgments-import": lambda things: Write(form={"files": SimpleUploadedFile("a.jsonl", A_JUDGMENT)}),
    "tournament-change": lambda things: Write([things.tournament.pk], {"do": "delete"}),
    "tournament-invite": lambda things: Write([things.tournament.pk], {"names": "Dee", "days": "3"}),
    "tournament-uninvite": _uninvite,
    "tournament-board-order": _board,
    "tournament-judges": _put_to_work,
    "assignment-change": lambda things: Write([_assignment(things).pk], {"do": "cancel"}),
    "judge-new": lambda things: Write(form=A_JUDGE),
    "judge-edit": lambda things: Write([_judge(things).pk], A_JUDGE),
    "judge-change": lambda things: Write([_judge(things).pk], {"do": "retire"}),
    "criteria": lambda things: Write(form=WORDS | {"name": "kind"}),
    "gold-sets": lambda things: Write(form={"name": "gold", "file": SimpleUploadedFile("a.jsonl", A_GOLD_PAIR)}),
    "criterion": lambda things: Write(["polite"], WORDS),
    "settings-cluster-new": lambda things: Write(form={"name": "alps", "kind": "slurm", "partition": "gpu"}),
    "settings-cluster-test": lambda things: Write(["local"]),
    "settings-cluster": lambda things: Write(["local"], {"more": '{"cores": 3}'}),
    "settings-secrets": lambda things: Write(form={"name": "beaver", "token": "x", "address": "http://127.0.0.1:8000"}),
    "settings-people": lambda things: Write(form={"username": "new", "role": "member"}),
    "settings-person": lambda things: Write([things.other.pk], {"do": "shut-out"}),
}


def everything() -> dict[str, str]:
    """Return a digest of all rows of each table of people, their groups and our apps."""
    ours = [model for app in ("runs", "judging") for model in apps.get_app_config(app).get_models()]
    tables = [model._meta.db_table for model in (User, User.groups.through, Group, *ours)]
    digest = sql.SQL("(SELECT md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM {} AS t)")
    with connection.cursor() as cursor:
        digests = sql.SQL(", ").join(digest.format(sql.Identifier(table)) for table in tables)
        cursor.execute(sql.SQL("SELECT {}").format(digests))
        return dict(zip(tables, cursor.fetchone(), strict=True))
