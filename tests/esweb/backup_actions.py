"""Actions of backup tests on a site of their own, in a process with that site's settings.

`python -m tests.esweb.backup_actions` starts Django once, reads actions as lines of JSON from its input, and prints a
line of JSON for each: ["make", PID], ["follow-and-backup", FILE], ["end-and-answer", AT, TOKEN] or
["follow-answer-and-tick", TOKEN].
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "esweb.settings")
django.setup()

from asgiref.sync import async_to_sync  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402

from esweb.api import api  # noqa: E402
from esweb.backup.restore import end_open_jobs  # noqa: E402
from judging import boards  # noqa: E402
from judging.models import Assignment, Judge, Tournament  # noqa: E402
from runs import access, models  # noqa: E402
from runs.launching import reconcile  # noqa: E402
from runs.models import Attempt, Cluster, Run  # noqa: E402
from tests.judging.bulk_verdicts import cast, first_votes  # noqa: E402
from tests.judging.synthetic_votes import make_random_votes  # noqa: E402
from tests.judging.tournament_factory import make_tournament, rubric  # noqa: E402
from tests.runs import full_runs  # noqa: E402
from tests.runs.audit_runs import audit_records, make_audit  # noqa: E402
from tests.runs.labels.label_cases import make_set  # noqa: E402
from tests.security import sample_rows  # noqa: E402
from workers.attempt import Process, claim_path, write_json  # noqa: E402

NOT_COMPARED = {
    "last_used_at": "asking for an answer sets it",
    "measured_at": "a reply measures now",
    "total_bytes": "drafts and tokens are not in a backup",
}
KINDS: dict[str, Any] = {
    "experiments": models.Experiment, "views": models.SavedView, "sweeps": models.Sweep,
    "tournaments": Tournament, "assignments": Assignment, "judges": Judge,
    "label-sets": models.LabelSet, "imports": models.ServerFolder,
}  # fmt: skip


def make(pid: int) -> dict[str, Any]:
    """Create a site, and a run whose attempt is the process `pid`. Return the data that a test needs of it."""
    site_rows = sample_rows.make_sample_rows()
    access.give_role(site_rows.caller, "admin")
    models.Sweep.objects.create(
        experiment_id=site_rows.experiments[0], created_by=site_rows.caller, name="Seeds", base={}, at_once=1
    )
    for cluster in Cluster.objects.all():
        steps = [{"name": "reach", "said": "it answers"}]
        models.ClusterTest.objects.create(
            cluster=cluster, asked_by=site_rows.caller, steps=steps, ended_at=timezone.now()
        )
        models.ServerFolder.objects.create(
            cluster=cluster, path="/srv/runs", person=site_rows.caller, next_look_at=None
        )
    tournament = make_tournament(
        site_rows.caller, models.Experiment.objects.get(pk=site_rows.experiments[0]), name="Judged"
    )
    cast(tournament, rubric("helpfulness"), first_votes(make_random_votes(60, contestants=3, prompts=4)))
    boards.save_board(tournament, rubric("helpfulness"))
    experiment = models.Experiment.objects.get(pk=site_rows.experiments[0])
    make_set(experiment, readers=1)
    full_runs.record(make_audit(experiment), audit_records())
    run = full_runs.make_run(experiment, "es-micro", seed=3)
    attempt = run.newest_attempt()
    assert attempt is not None
    process = Process.at(pid)
    assert process is not None
    who = {"pid": process.pid, "started": process.started, "boot": process.boot}
    claim_path(attempt.directory).mkdir(parents=True)
    write_json(claim_path(attempt.directory) / "owner.json", who)
    write_json(attempt.directory / "heartbeat.json", {"n": 1, "epoch": 1, **who})
    (attempt.directory / "checkpoints" / ".step-000009").mkdir(parents=True)
    (attempt.directory / "checkpoints" / ".step-000009" / "half").write_text("half")
    (attempt.directory / "site-token").write_text("a token")
    return {"token": site_rows.headers["Authorization"], "attempt": attempt.pk, "folder": str(attempt.directory)}


def answers(token: str) -> dict[str, dict[str, Any]]:
    """Return what each address of each GET operation answers: operation -> address -> [status, body]."""
    client, out = Client(headers={"authorization": token, "host": "localhost"}), dict[str, dict[str, Any]]()
    for path, operations in api.get_openapi_schema()["paths"].items():
        if "get" in operations:
            out[path] = {address: _answer(client, address) for address in _addresses(path)}
    return out


def _addresses(path: str) -> Iterator[str]:
    """Fill in the path's parameters with all rows that there are."""
    if path == "/api/v1/series":
        yield from (f"{path}?run={run.uid}&key=reward/mean&x=step" for run in Run.objects.order_by("pk"))
        return
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    values: dict[str, list[Any]] = {
        "uid": list(Run.objects.order_by("pk").values_list("uid", flat=True)),
        "key": list(Attempt.objects.order_by("pk").values_list("key", flat=True)),
        "name": list(Cluster.objects.values_list("name", flat=True)),
        "step": [sample_rows.STEP],
    }
    if "pk" in names:
        values["pk"] = list(KINDS[path.split("/")[3]].objects.order_by("pk").values_list("pk", flat=True))
    for combination in product(*(values[name] for name in names)):
        yield path.format(**dict(zip(names, combination, strict=True)))


def _answer(client: Client, address: str) -> tuple[int, Any]:
    answer = client.get(address)
    if "json" in answer.headers.get("Content-Type", "") and not answer.streaming:
        return answer.status_code, json.loads(answer.content, object_hook=_compared)
    content = async_to_sync(_whole)(answer) if getattr(answer, "is_async", False) else answer.getvalue()
    return answer.status_code, [len(content), hashlib.sha256(content).hexdigest()]


async def _whole(answer: Any) -> bytes:
    """Read a download, which an ASGI server would send in pieces."""
    return b"".join([piece async for piece in answer])


def _compared(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in NOT_COMPARED}


def tick() -> None:
    """Look after all clusters, and stop what runs here as the end of `up` does."""
    for cluster in Cluster.objects.all():
        reconcile.reconcile_cluster(cluster)
    reconcile.interrupt_local(0.0)


def act(action: list[str]) -> Any:
    """Run the action, and return what its caller needs of it."""
    match action:
        case ["make", pid]:
            return make(int(pid))
        case ["follow-and-backup", file]:
            call_command("follow", once=True)
            with running_as_bundled():
                call_command("backup", Path(file), stdout=sys.stderr)
        case ["end-and-answer", at, token]:
            end_open_jobs(datetime.fromisoformat(at))
            call_command("follow", once=True)
            return answers(token)
        case ["follow-answer-and-tick", token]:
            call_command("follow", once=True)
            replies = answers(token)
            tick()
            return replies
    return None


@contextmanager
def running_as_bundled() -> Iterator[None]:
    """Hide the variable that names the database: `up` has started it, as far as a backup can see."""
    address = os.environ.pop("DATABASE_URL")
    try:
        yield
    finally:
        os.environ["DATABASE_URL"] = address


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(act(json.loads(line))), flush=True)
