"""Every address at which a page changes shared rows, with a valid form; and a digest to detect changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.apps import apps
from django.contrib.auth.models import Group, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.urls import reverse
from django.utils import timezone
from psycopg import sql

from judging.judges import create_judge
from judging.models import Assignment, Criterion, Judge, Rubric, Tournament
from judging.tournaments import Entry, create_tournament
from judging.voting import create_invitations
from runs.experiments import trash
from runs.flags import dismiss
from runs.labels.commands import Decision, save_label
from runs.launching import rebuilds
from runs.launching.budgets import set_limit
from runs.launching.config_form import initial_from
from runs.launching.sweeps.commands import NewSweep, launch_sweep
from runs.models import (
    Cluster,
    Experiment,
    Flag,
    Import,
    LabelItem,
    Limit,
    LineStyle,
    Run,
    SavedView,
    Scoring,
    ServerFolder,
    Sweep,
)
from runs.service_registry.commands import Registration, register
from tests.runs import full_runs
from tests.runs.attempt_records import answer
from tests.runs.labels.label_cases import items_of, make_set
from workers.config import preset
from workers.records import Member, Population


@dataclass(frozen=True)
class WriteSubjects:
    """A caller, the rows that they created as a member, and another user."""

    caller: User
    experiment: Experiment
    running: Run
    stopped: Run
    deleted: Run
    view: SavedView
    sweep: Sweep
    limit: Limit
    other: User
    tournament: Tournament
    rubric: Rubric


@dataclass(frozen=True)
class WriteRequest:
    """A request: the arguments of the address, the form, and the required content of the browser's session."""

    args: list[Any] = field(default_factory=list)
    form: Mapping[str, Any] = field(default_factory=dict)
    session: Mapping[str, Any] = field(default_factory=dict)

    def address(self, name: str) -> str:
        """Return the request's address, by the name of the route."""
        return reverse(name, args=self.args)


def make_write_subjects(owner: User) -> WriteSubjects:
    """Create one row of each kind that the writes below need."""
    experiment = Experiment.objects.create(name="Concise", owner=owner)
    states = enumerate(("running", "interrupted", "failed"))
    running, stopped, deleted = (full_runs.make_run(experiment, "es-micro", seed, state) for seed, state in states)
    full_runs.record(running, [Population(9, (Member(0, -1.0, z=1.0),))])
    rebuilds.rebuild_checkpoint(running, 3, owner)
    trash.delete_run(deleted, owner)
    view = SavedView.objects.create(name="Mine", owner=owner, page="experiments")
    new_sweep = NewSweep(base=preset("es-micro").config, grid={"es.sigma": [0.1]}, seeds=[0])
    sweep = launch_sweep(new_sweep, experiment, owner)
    limit = set_limit(kind="gpu", period="month", hours=5.0, experiment=experiment)
    other = User.objects.create(username="other")
    tournament = Tournament.objects.create(name="Which?", owner=owner, seed=1)
    polite = Criterion.objects.create(slug="polite", owner=owner)
    rubric = Rubric.objects.create(criterion=polite, version=1, question="Which is more polite?", text="Says please.")
    return WriteSubjects(owner, experiment, running, stopped, deleted, view, sweep, limit, other, tournament, rubric)


def launch_form() -> dict[str, Any]:
    """Return the form of a launch of the smallest preset."""
    form = {k: v for k, v in initial_from(preset("es-micro").config).items() if v is not None and v is not False}
    return {"preset": "es-micro", "seeds": "0", "name": "", **form}


def _launch(subjects: WriteSubjects) -> WriteRequest:
    return WriteRequest([subjects.experiment.pk], launch_form())


def _undo(subjects: WriteSubjects) -> WriteRequest:
    undo = {"experiment": subjects.experiment.pk, "do": "delete", "tag": "", "runs": [subjects.stopped.pk], "said": ""}
    return WriteRequest([subjects.experiment.pk], session={"undo": undo})


def _order_board(subjects: WriteSubjects) -> WriteRequest:
    """Return a request for a leaderboard with other settings."""
    subjects.tournament.rubrics.add(subjects.rubric)
    return WriteRequest([subjects.tournament.pk], A_BOARD)


def _create_tournament(subjects: WriteSubjects) -> WriteRequest:
    """Return a request for a tournament of two runs with responses."""
    for run in (subjects.running, subjects.stopped):
        full_runs.record(run, [answer(1, "Madrid")])
    contestants = [f"{run.uid}:1:eval" for run in (subjects.running, subjects.stopped)]
    return WriteRequest(form=A_TOURNAMENT | {"contestant": contestants, "criteria": [subjects.rubric.pk]})


def _withdraw_invitation(subjects: WriteSubjects) -> WriteRequest:
    ((invitation, _),) = create_invitations(subjects.tournament, subjects.other, ["Dee"])
    return WriteRequest([subjects.tournament.pk, invitation.pk])


def _undo_import(subjects: WriteSubjects) -> WriteRequest:
    Import.objects.create(run=subjects.stopped, kind="ES log", name="a.log", sha256="ab" * 32, bytes=1, part=0)
    return WriteRequest(form={"runs": subjects.stopped.uid})


def _make_judge(subjects: WriteSubjects) -> Judge:
    return create_judge(subjects.experiment.owner, Judge(name="Model", base_url="http://127.0.0.1:9/v1", model="m"))


def _make_assignment(subjects: WriteSubjects) -> Assignment:
    owner = subjects.experiment.owner
    return Assignment.objects.create(
        judge=_make_judge(subjects), tournament=subjects.tournament, cap=1, created_by=owner
    )


def _assign_judge(subjects: WriteSubjects) -> WriteRequest:
    """Return a request that assigns a judge to a pair of different responses; equal ones are not judged."""
    for run, city in ((subjects.running, "Madrid"), (subjects.stopped, "Lisbon")):
        full_runs.record(run, [answer(1, city)])
    entries = [Entry(run, 1, "eval") for run in (subjects.running, subjects.stopped)]
    new = Tournament(owner=subjects.experiment.owner, name="Whose?")
    tournament = create_tournament(new, entries, [subjects.rubric], prompts=1)
    return WriteRequest(
        [tournament.pk], {"judge": _make_judge(subjects).pk, "rubrics": [subjects.rubric.pk], "cap": "1"}
    )


def _request_scores(subjects: WriteSubjects) -> WriteRequest:
    """Return a request for scores by a registered scorer."""
    owner = subjects.experiment.owner
    register(owner, Registration("scorer", "beaver", "4f1c9a52e0b7", "http://127.0.0.1:9"))
    full_runs.record(subjects.stopped, [answer(1, "Madrid")])
    return WriteRequest([subjects.stopped.uid], {"scorer": "beaver"})


def _make_scoring(subjects: WriteSubjects) -> Scoring:
    owner = subjects.experiment.owner
    return Scoring.objects.create(run=subjects.stopped, scorer="beaver", asked_by=owner)


def _make_flag(subjects: WriteSubjects) -> Flag:
    values: dict[str, Any] = {"step": 5, "first_step": 5, "value": 1.0, "limit": 0.1, "detected_at": timezone.now()}
    return Flag.objects.create(run=subjects.stopped, detector="empty", **values)


def _make_line_style(subjects: WriteSubjects) -> LineStyle:
    values = {"dimension": "method", "identity": "method=es", "method": "es", "variant": 0}
    return LineStyle.objects.create(experiment=subjects.experiment, **values)


def _undo_dismissal(subjects: WriteSubjects) -> WriteRequest:
    flag = _make_flag(subjects)
    dismiss(flag, subjects.experiment.owner, "The task wants silence.")
    return WriteRequest([subjects.stopped.uid, flag.pk])


def _make_label_item(subjects: WriteSubjects) -> LabelItem:
    """Return a response that its owner has labelled, so that it may be decided on."""
    item = items_of(make_set(subjects.experiment, readers=1))[0]
    save_label(item, subjects.experiment.owner, Decision("right"))
    return item


def _draw_label_set(subjects: WriteSubjects) -> WriteRequest:
    full_runs.record(subjects.stopped, [answer(1, "Madrid")])
    form = {"name": "New", "number": "1", "steps": "all", "split": "eval", "readers": "2", "seed": "1"}
    return WriteRequest([subjects.experiment.pk], form | {"runs": [subjects.stopped.uid]})


def _make_server_folder(subjects: WriteSubjects) -> ServerFolder:
    cluster = Cluster.objects.get(name="local")
    return ServerFolder.objects.create(cluster=cluster, path="/srv/runs", person=subjects.caller)


def _import_folder(subjects: WriteSubjects) -> WriteRequest:
    Cluster.objects.filter(name="local").update(config={"import_paths": [str(TESTS)]})
    return WriteRequest(form={"cluster": "local", "path": str(TESTS / "security")})


def _import_labels(subjects: WriteSubjects) -> WriteRequest:
    item = _make_label_item(subjects)
    text = f"question,response,reader,verdict\n{item.question},{item.response},ann,right\n"
    return WriteRequest([subjects.experiment.pk], {"file": SimpleUploadedFile("a.csv", text.encode())})


ITERATION = b"Iteration 1/1, Time: 1.00s, Mean: -1.00, Min: -2.00, Max: 0.00, Std: 0.50\n"
A_LIMIT = {"person": "other", "experiment": "", "kind": "gpu", "hours": "5", "period": "all"}
A_BOARD = {
    "whose": "all", "identical": "left-out", "ties": "davidson", "swap": "as-is", "unit": "prompt", "level": "0.95",
    "prior": "0", "init": "1000", "k": "32", "shuffle": "123", "failed": "tie",
}  # fmt: skip
TESTS = Path(__file__).resolve().parents[1]
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
WRITES: dict[str, Callable[[WriteSubjects], WriteRequest]] = {
    "experiments": lambda subjects: WriteRequest(form={"name": "New"}),
    "try-preset": lambda subjects: WriteRequest(),
    "launch": _launch,
    "launch-audit": _launch,
    "experiment-resume": lambda subjects: WriteRequest([subjects.experiment.pk]),
    "experiment-bulk": lambda subjects: WriteRequest(
        [subjects.experiment.pk], {"do": "delete", "run": [subjects.stopped.uid]}
    ),
    "experiment-undo": _undo,
    "experiment-edit": lambda subjects: WriteRequest([subjects.experiment.pk], {"name": "Other"}),
    "experiment-shelve": lambda subjects: WriteRequest([subjects.experiment.pk], {"do": "delete"}),
    "line-colour": lambda subjects: WriteRequest([_make_line_style(subjects).pk], {"colour": "#112233"}),
    "sweep-change": lambda subjects: WriteRequest([subjects.sweep.pk], {"do": "pause"}),
    "sweep-extend": lambda subjects: WriteRequest([subjects.sweep.pk], {"more-es.sigma": "", "more-seeds": "5"}),
    "queue-change": lambda subjects: WriteRequest([subjects.running.uid], {"do": "cancel"}),
    "run-cancel": lambda subjects: WriteRequest([subjects.running.uid]),
    "run-resume": lambda subjects: WriteRequest([subjects.stopped.uid]),
    "run-restore": lambda subjects: WriteRequest([subjects.deleted.uid]),
    "run-edit": lambda subjects: WriteRequest([subjects.stopped.uid], {"name": "Other"}),
    "run-checkpoints": lambda subjects: WriteRequest([subjects.running.uid], {"step": "5"}),
    "run-scores": _request_scores,
    "run-scoring-change": lambda subjects: WriteRequest(
        [subjects.stopped.uid, _make_scoring(subjects).pk], {"do": "cancel"}
    ),
    "run-free": lambda subjects: WriteRequest([subjects.stopped.uid], {"part": "rebuildable"}),
    "run-rebuild-stop": lambda subjects: WriteRequest([subjects.running.uid, 3]),
    "import": lambda subjects: WriteRequest(
        form={"experiment": "New", "files": SimpleUploadedFile("a.log", ITERATION)}
    ),
    "import-undo": _undo_import,
    "saved-views": lambda subjects: WriteRequest(form=SHARED_VIEW),
    "saved-view-change": lambda subjects: WriteRequest([subjects.view.pk], {"do": "share"}),
    "limit-set": lambda subjects: WriteRequest(form=A_LIMIT),
    "limit-remove": lambda subjects: WriteRequest([subjects.limit.pk]),
    "label-set-new": _draw_label_set,
    "labels-import": _import_labels,
    "label-set-archive": lambda subjects: WriteRequest([_make_label_item(subjects).label_set_id], {"do": "archive"}),
    "label-next": lambda subjects: WriteRequest(
        [_make_label_item(subjects).label_set_id], {"n": "1", "verdict": "wrong"}
    ),
    "label-item": lambda subjects: WriteRequest(
        [(item := _make_label_item(subjects)).label_set_id, item.pk], {"verdict": "wrong", "note": "It is."}
    ),
    "tournament-new": _create_tournament,
    "judgments-import": lambda subjects: WriteRequest(form={"files": SimpleUploadedFile("a.jsonl", A_JUDGMENT)}),
    "tournament-change": lambda subjects: WriteRequest([subjects.tournament.pk], {"do": "delete"}),
    "tournament-invite": lambda subjects: WriteRequest([subjects.tournament.pk], {"names": "Dee", "days": "3"}),
    "tournament-uninvite": _withdraw_invitation,
    "tournament-board-order": _order_board,
    "tournament-judges": _assign_judge,
    "assignment-change": lambda subjects: WriteRequest([_make_assignment(subjects).pk], {"do": "cancel"}),
    "judge-new": lambda subjects: WriteRequest(form=A_JUDGE),
    "judge-edit": lambda subjects: WriteRequest([_make_judge(subjects).pk], A_JUDGE),
    "judge-change": lambda subjects: WriteRequest([_make_judge(subjects).pk], {"do": "retire"}),
    "criteria": lambda subjects: WriteRequest(form=WORDS | {"name": "kind"}),
    "gold-sets": lambda subjects: WriteRequest(
        form={"name": "gold", "file": SimpleUploadedFile("a.jsonl", A_GOLD_PAIR)}
    ),
    "criterion": lambda subjects: WriteRequest(["polite"], WORDS),
    "settings-cluster-new": lambda subjects: WriteRequest(form={"name": "alps", "kind": "slurm", "partition": "gpu"}),
    "settings-cluster-test": lambda subjects: WriteRequest(["local"]),
    "settings-cluster": lambda subjects: WriteRequest(["local"], {"more": '{"cores": 3}'}),
    "import-folders": _import_folder,
    "import-folder-stop": lambda subjects: WriteRequest([_make_server_folder(subjects).pk]),
    "settings-secrets": lambda subjects: WriteRequest(
        form={"name": "beaver", "token": "x", "address": "http://127.0.0.1:8000"}
    ),
    "settings-flags": lambda subjects: WriteRequest(form={"empty": "0.5"}),
    "experiment-flags": lambda subjects: WriteRequest([subjects.experiment.pk], {"empty": "0.5"}),
    "flag-dismiss": lambda subjects: WriteRequest(
        [subjects.stopped.uid, _make_flag(subjects).pk], {"reason": "The task wants silence."}
    ),
    "flag-undo": _undo_dismissal,
    "settings-people": lambda subjects: WriteRequest(form={"username": "new", "role": "member"}),
    "settings-person": lambda subjects: WriteRequest([subjects.other.pk], {"do": "shut-out"}),
}


def digest_tables() -> dict[str, str]:
    """Return a digest of all rows of each table of users, their groups and our apps."""
    app_models = [model for app in ("runs", "judging") for model in apps.get_app_config(app).get_models()]
    tables = [model._meta.db_table for model in (User, User.groups.through, Group, *app_models)]
    digest = sql.SQL("(SELECT md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM {} AS t)")
    with connection.cursor() as cursor:
        digests = sql.SQL(", ").join(digest.format(sql.Identifier(table)) for table in tables)
        cursor.execute(sql.SQL("SELECT {}").format(digests))
        return dict(zip(tables, cursor.fetchone(), strict=True))
