"""Every example of the API description is sent to the server unchanged and gets the described response."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import override_settings
from django.utils import timezone
from pytest_django import DjangoDbBlocker
from pytest_django.fixtures import Settings

from esweb.api import api
from judging import boards
from judging.models import Assignment, Tournament
from runs import access
from runs.experiments import trash
from runs.exporting import Member, zip_pieces
from runs.http import EXAMPLE_UID
from runs.labels.commands import Decision, save_label
from runs.launching.budgets import set_limit
from runs.launching.sweeps.commands import NewSweep, cancel_sweep, launch_sweep
from runs.models import (
    ApiToken,
    Attempt,
    Cluster,
    ClusterTest,
    Experiment,
    ExternalRun,
    Flag,
    LabelItem,
    LabelSet,
    Limit,
    Origin,
    Run,
    SavedView,
    Scoring,
    ServerFolder,
    Sweep,
)
from runs.models.label import digest_of
from runs.service_registry.api import EXAMPLE
from runs.service_registry.commands import Registration, register
from tests.cases import each_case
from tests.conftest import person
from tests.judging.sample_tournament import count_from_one, meeting
from tests.judging.tournament_factory import make_gold_set
from tests.runs import checkpoint_files, full_runs
from tests.runs.api_client import calls
from tests.runs.audit_runs import complete_audit
from workers.config import preset

DESCRIPTION: dict[str, Any] = api.get_openapi_schema()
OPERATIONS = {
    operation["operationId"]: (method, path, operation)
    for path, methods in DESCRIPTION["paths"].items()
    for method, operation in methods.items()
}
BODIES = [name for name, (_, _, operation) in OPERATIONS.items() if "requestBody" in operation]


def end_run(run: Run) -> None:
    """End the run, because only an ended run can be resumed."""
    full_runs.end(run, "interrupted")
    Run.objects.update(state="interrupted")


def make_external(run: Run) -> None:
    """Make the run one that a program elsewhere reports, because only such programs send heartbeats and ends."""
    ExternalRun.objects.create(run=run, owner=run.created_by)
    now = timezone.now()
    Attempt.objects.update(cluster=None, origin=Origin.EXTERNAL, state="running", drained_at=now, started_at=now)


def register_service(run: Run) -> None:
    """Register the service that the heartbeat and leave examples need."""
    registration = EXAMPLE | {"capabilities": {}}
    register(run.created_by, Registration(**registration))


def make_remote_cluster() -> Cluster:
    """Create a cluster that is not this machine."""
    return Cluster.objects.create(name="far", kind="slurm")


def hold_run(run: Run) -> None:
    """Hold the run, because only a held run can be released."""
    Attempt.objects.filter(run=run).update(state="created", hold="person")


def make_admin(run: Run) -> None:
    """Make the caller an admin, who may add clusters."""
    User.objects.filter(pk=run.created_by_id).update(is_superuser=True)


def make_server_folder(run: Run) -> None:
    """Import a folder of the server, of number 1."""
    local = Cluster.objects.get(name="local")
    ServerFolder.objects.create(id=1, cluster=local, path="/srv", person=run.created_by, next_look_at=None)


def make_meeting(run: Run) -> None:
    """Create tournament 1, with a judge, its work and an invited voter, each of number 1."""
    count_from_one()
    meeting(run.created_by, run.experiment)


def make_meeting_with_free_judge(run: Run) -> None:
    """Create the same, with a judge that is free."""
    make_meeting(run)
    Assignment.objects.all().delete()


def make_meeting_with_running_judge(run: Run) -> None:
    """Create the same, with a judge that can be paused."""
    make_meeting(run)
    Assignment.objects.update(state="running")


def make_meeting_with_gold(run: Run) -> None:
    """Create the same, with a gold set of number 1."""
    make_meeting(run)
    make_gold_set(run.created_by)


def make_board(run: Run) -> None:
    """Create a tournament with a computed board."""
    make_meeting(run)
    tournament = Tournament.objects.get()
    boards.save_board(tournament, tournament.rubrics.order_by("pk")[0])


def register_scorer(run: Run) -> None:
    """Register a scorer."""
    register(run.created_by, Registration("scorer", "beaver", "4f1c9a52e0b7", "http://127.0.0.1:9"))


def make_scoring(run: Run, state: str = "going") -> None:
    """Create a scoring of number 1."""
    Scoring.objects.create(id=1, run=run, scorer="beaver", asked_by=run.created_by, state=state)


def make_flag(run: Run) -> None:
    """Create an open flag of the run, because only a flag can be dismissed."""
    values = {"step": 0, "first_step": 0, "value": 1.0, "limit": 0.1, "n": 2, "detected_at": run.created_at}
    Flag.objects.create(run=run, detector="empty", **values)


def make_labels(run: Run) -> None:
    """Create label set 1 with response 1, which its reader has labelled."""
    label_set = LabelSet.objects.create(
        id=1, experiment=run.experiment, name="Gold", codebook=1, readers=1, created_by=run.created_by
    )
    item = LabelItem.objects.create(
        id=1, label_set=label_set, digest=digest_of("2+2?", "4"), question="2+2?", response="4"
    )
    save_label(item, run.created_by, Decision("right"))


PREPARED = {
    **dict.fromkeys(
        (
            "read_tournament",
            "change_tournament",
            "list_verdicts",
            "export_judgments",
            "read_transcript",
            "order_board",
            "invite_voters",
            "take_invitation_back",
            "delete_tournament",
            "restore_tournament",
            "read_judge",
            "read_assignment",
        ),
        make_meeting,
    ),
    **dict.fromkeys(
        (
            "read_label_set",
            "read_next_response",
            "make_label",
            "export_labels",
            "undo_last_label",
            "decide_response",
            "import_label_file",
        ),
        make_labels,
    ),
    "make_tournament": lambda run: full_runs.record(run, full_runs.a_bit_of_everything((5,))),
    "assign_judge": make_meeting_with_free_judge,
    "change_assignment": make_meeting_with_running_judge,
    "calibrate_judge": make_meeting_with_gold,
    "read_board": make_board,
    "read_reward_audit": lambda run: complete_audit(run.experiment),
    "put_cluster": make_admin,
    "import_folder": lambda run: Cluster.objects.filter(name="local").update(config={"import_paths": ["/srv"]}),
    "read_folder": make_server_folder,
    "stop_folder": make_server_folder,
    "dismiss_flag": make_flag,
    "undo_flag_dismissal": make_flag,
    "set_site_thresholds": make_admin,
    "read_cluster_test": lambda run: ClusterTest.objects.create(cluster=Cluster.objects.get(name="local")),
    "hold": lambda run: Attempt.objects.filter(run=run).update(state="queued"),
    "release": hold_run,
    "move": lambda run: Attempt.objects.filter(run=run).update(state="queued", cluster=make_remote_cluster()),
    "begin_scoring": register_scorer,
    "cancel_scoring": make_scoring,
    "resume_scoring": lambda run: make_scoring(run, "failed"),
    "beat_service": register_service,
    "withdraw_service": register_service,
    "resume": end_run,
    "free_storage": end_run,
    "send_heartbeat": make_external,
    "end_attempt": make_external,
    "uncancel_sweep": lambda run: cancel_sweep(Sweep.objects.get(), run.created_by),
    "restore_run": lambda run: trash.delete_run(run, run.created_by),
    "restore_experiment": lambda run: trash.delete_experiment(run.experiment, run.created_by),
}


@pytest.fixture(scope="module")
def site(shared_rows: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make what the examples speak of, and return the folder of its runs."""
    folder = tmp_path_factory.mktemp("runs")
    with shared_rows.unblock(), override_settings(RUNS_DIR=folder):
        fill(person("ada"))
    return folder


@pytest.fixture
def ada(db: None, site: Path) -> User:
    """Return the owner of the examples' rows."""
    return User.objects.get(username="ada")


@pytest.fixture
def run(ada: User, site: Path, tmp_path: Path, settings: Settings) -> Run:
    """Return the run of the examples, with its files in a folder of this test alone."""
    settings.RUNS_DIR = tmp_path / "runs"
    shutil.copytree(site, settings.RUNS_DIR)
    return Run.objects.get(uid=EXAMPLE_UID)


def fill(ada: User) -> None:
    """Make the examples' run in experiment 1, with a checkpoint at step 5, a view, a token and a sweep of number 1."""
    # Made, then renumbered, so that what the example itself makes is given another number.
    Experiment.objects.create(name="Concise", owner=ada)
    Experiment.objects.update(id=1)
    experiment = Experiment.objects.get()
    run = full_runs.make_run(experiment, "es-micro")
    config = {**preset("es-micro").config, "compute": {"cluster": "local"}}
    Run.objects.filter(pk=run.pk).update(uid=EXAMPLE_UID, config=config)
    Attempt.objects.update(key=f"esweb-{EXAMPLE_UID}-a1")
    run.refresh_from_db()
    full_runs.record(run, full_runs.a_bit_of_everything((0,)))
    checkpoint_files.save(run, 5)
    SavedView.objects.create(name="Worst first", owner=ada, page="experiment", experiment=experiment)
    SavedView.objects.update(id=1)
    access.issue(ada, "read")
    ApiToken.objects.update(id=1)
    new = NewSweep(base=preset("es-micro").config, grid={"es.sigma": [0.1]}, seeds=[0])
    access.give_role(ada, "admin")
    set_limit(kind="cpu", period="all", hours=1000.0, experiment=experiment)
    Limit.objects.update(id=1)
    new_sweep = launch_sweep(new, experiment, ada)
    Run.objects.filter(sweep=new_sweep).update(sweep=1)
    Sweep.objects.update(id=1)


def address(path: str, operation: dict[str, Any]) -> str:
    """Return the path with the examples of its parameters, and those of its query."""
    query = {}
    for parameter in operation["parameters"]:
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", str(parameter["example"]))
        elif "example" in parameter:
            query[parameter["name"]] = parameter["example"]
    return f"{path}?{urlencode(query, doseq=True)}"


def body_of(kind: str, example: Any) -> dict[str, Any]:
    """Return the example as arguments of the client; a form is sent as Django's client makes one."""
    if kind == "multipart/form-data":
        field = "files" if "files" in example else "file"
        content = archive_of_nothing() if example[field].endswith(".zip") else example[field].encode()
        return {"data": {**example, field: SimpleUploadedFile("run.log", content)}}
    return {"data": example, "content_type": kind}


def archive_of_nothing() -> bytes:
    """Return an archive of an experiment without runs: the example names only its file."""
    return b"".join(zip_pieces([Member("x/esweb-experiment.json", [b'{"format": 1, "name": "Paper"}'])]))


def example_bodies(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the example of each kind of body that the operation takes, as arguments of the client."""
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        yield body_of(kind, body["example"])


@each_case("name", OPERATIONS)
def test_an_example_is_answered_as_described(name: str, run: Run, ada: User) -> None:
    method, path, operation = OPERATIONS[name]
    PREPARED.get(name, lambda run: None)(Run.objects.get(pk=run.pk))
    sent = next(example_bodies(operation), {})
    script = calls(ada, "admin")
    answer = getattr(script, method)(address(path, operation), **sent)
    assert answer.status_code < 300, answer.content
    assert answer.status_code in operation["responses"]
    if answer.streaming:
        checkpoint_files.close(answer)


def test_operations_with_a_body_have_an_example() -> None:
    assert len(BODIES) == 43
    for name in BODIES:
        assert all("example" in content for content in OPERATIONS[name][2]["requestBody"]["content"].values()), name


def test_every_operation_documents_its_refusals() -> None:
    for name, (_, _, operation) in OPERATIONS.items():
        assert {"401", "429"} <= set(map(str, operation["responses"])), name
        refusal = operation["responses"][401]["content"]
        assert refusal == {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}, name
    assert set(DESCRIPTION["components"]["schemas"]["Problem"]["required"]) >= {"type", "title", "status", "detail"}
