"""Pages, API and commands of archives: who gets what, and archives that are none."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from esweb.experiment_archives.document import ExperimentFacts
from judging.models import Tournament
from runs.exporting import Member, zip_pieces
from runs.models import Experiment, Run
from tests.cases import each_case
from tests.esweb.experiment_archives.archived_experiment import archive_bytes, import_bytes
from tests.judging.bulk_verdicts import cast, first_votes
from tests.judging.synthetic_votes import make_random_votes
from tests.judging.tournament_factory import make_gold_set, make_tournament, rubric
from tests.runs import full_runs
from tests.runs.api_client import calls
from tests.runs.exporting.archives import unzip, unzip_reply

pytestmark = pytest.mark.usefixtures("runs_dir")
DOCUMENT = "x/esweb-experiment.json"


def archive_of(document: Any, **files: bytes) -> bytes:
    """Return an archive with this document, and files in its folder."""
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    members = [Member(DOCUMENT, [text]), *(Member(f"x/{name}", [content]) for name, content in files.items())]
    return b"".join(zip_pieces(members))


def test_page_and_api_export_what_their_reader_sees(
    experiment: Experiment, ada: User, bo: User, ada_client: Client, bo_client: Client
) -> None:
    run = full_runs.make_run(experiment, state="succeeded")
    full_runs.record(run, full_runs.a_bit_of_everything())
    page = ada_client.get(reverse("experiment-export", args=[experiment.pk])).content.decode()
    assert "A zip with 1 run" in page and reverse("experiment-export-file", args=[experiment.pk]) in page
    names = set(unzip_reply(ada_client.get(reverse("experiment-export-file", args=[experiment.pk]))))
    folder = f"esweb-experiment-{experiment.pk}-concise"
    assert f"{folder}/runs/00001-{run.uid}/esweb-{run.uid}-a1/records.1.jsonl" in names
    api = f"/api/v1/experiments/{experiment.pk}/export"
    assert set(unzip_reply(calls(ada, "read").get(api))) == names
    assert calls(ada, "read").get(f"{api}/size").json()["runs"] == 1
    Experiment.objects.filter(pk=experiment.pk).update(is_private=True)
    assert bo_client.get(reverse("experiment-export", args=[experiment.pk])).status_code == 404
    assert calls(bo, "read").get(api).status_code == 404


def test_page_takes_as_many_queries_for_many_runs(experiment: Experiment, ada_client: Client) -> None:
    address, counts = reverse("experiment-export", args=[experiment.pk]), []
    for seeds in (range(1), range(1, 12)):
        for seed in seeds:
            full_runs.record(
                full_runs.make_run(experiment, seed=seed, state="succeeded"), [full_runs.evaluation(0, 1.0)]
            )
        with CaptureQueriesContext(connection) as queries:
            assert f"A zip with {len(seeds) + seeds.start} run" in ada_client.get(address).content.decode()
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_archive_leaks_neither_open_votes_nor_gold(experiment: Experiment, ada: User, bo: User) -> None:
    tournament = make_tournament(ada, experiment, gold_set=make_gold_set(ada), seed=424_242)
    cast(tournament, rubric("helpfulness"), first_votes(make_random_votes(20, contestants=3, prompts=4)))
    own, others = (unzip(archive_bytes(experiment, person)) for person in (ada, bo))
    assert any(name.endswith("judgments.jsonl") for name in own)
    assert not any(name.endswith("judgments.jsonl") for name in others)
    (setup,) = (json.loads(text) for name, text in others.items() if name.endswith("setup.json"))
    assert setup["seed"] is None and setup["gold_set"] is None
    assert b"424242" not in b"".join(others.values()) and b"gold 1?" not in b"".join(own.values())
    result, _ = import_bytes(archive_bytes(experiment, bo), bo, name="Copy")
    assert result is not None and "votes were not exported" in result.problems[0]
    Tournament.objects.update(is_private=True)
    assert not any("tournaments" in name for name in unzip(archive_bytes(experiment, bo)))


def test_page_imports_an_archive_and_viewers_may_not(
    ada: User, bo_client: Client, bo: User, experiment: Experiment
) -> None:
    run = full_runs.make_run(experiment, state="succeeded")
    full_runs.record(run, full_runs.a_bit_of_everything())
    upload = SimpleUploadedFile("a.zip", archive_bytes(experiment, ada))
    address = reverse("experiment-import")
    page = bo_client.post(address, {"file": upload, "name": "Mine", "is_private": "on"}).content.decode()
    assert "1 new run in Mine" in page and Experiment.objects.get(owner=bo, name="Mine").is_private
    problem = bo_client.post(address, {"file": SimpleUploadedFile("a.zip", b"no zip")})
    assert problem.status_code == 400 and "no zip archive" in problem.content.decode()
    assert bo_client.post(address, {}).status_code == 400


HOSTILE: dict[str, Any] = {
    "no JSON": b"{",
    "deep": b'{"format": 1, "name": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "newer": {"format": 2, "name": "x"},
    "a list": [1],
    "no name": {"format": 1},
    "runs of numbers": {"format": 1, "name": "x", "runs": [1]},
    "sweep without plan": {"format": 1, "name": "x", "sweeps": [{"name": "s"}]},
}
PARTIAL: dict[str, tuple[dict[str, Any], str]] = {
    "sweep": (
        {"sweeps": [{"name": "s", "base": {}, "grid": {"es.sigma": 3}, "seeds": [1], "at_once": 1}]}, "list of values",
    ),
    "sweep of unknown keys": (
        {"sweeps": [{"name": "s", "base": {}, "grid": {"os.system": [3]}, "seeds": [1], "at_once": 1}]}, "os.system",
    ),
    "view": ({"views": [{"name": "x" * 200, "query": "a=b"}]}, "100 characters"),
    "layout": ({"layout": ["nosuch:huge:"]}, "layout"),
    "thresholds": ({"thresholds": {"nosuch": 1}}, "nosuch"),
    "labels outside": ({"label_sets": [{"file": "../../etc/passwd", "name": "x"}]}, "is missing"),
    "tournament": ({"tournaments": [{"folder": "..", "name": "x"}]}, "is missing"),
    "foreign run": ({"runs": ["{uid}"]}, "its folder is missing"),
}  # fmt: skip


@each_case("name", HOSTILE)
def test_archive_with_a_bad_document_is_refused(name: str, bo: User) -> None:
    result, problem = import_bytes(archive_of(HOSTILE[name]), bo)
    assert result is None and "esweb-experiment.json cannot be read" in problem
    assert not Experiment.objects.filter(owner=bo).exists()


@each_case("name", PARTIAL)
def test_bad_part_of_an_archive_is_reported_and_the_others_imported(
    name: str, bo: User, experiment: Experiment
) -> None:
    run = full_runs.make_run(experiment)
    document, reason = PARTIAL[name]
    text = json.dumps({"format": 1, "name": name, **document}).replace("{uid}", run.uid)
    result, problem = import_bytes(archive_of(text.encode()), bo)
    assert not problem and result is not None and reason in "\n".join(result.problems), result
    assert Run.objects.get(pk=run.pk).experiment == experiment and not result.experiment.runs.exists()
    assert not result.experiment.sweeps.exists()


def test_commands_export_and_import_an_experiment(experiment: Experiment, bo: User, tmp_path: Path) -> None:
    run = full_runs.make_run(experiment, state="succeeded")
    full_runs.record(run, full_runs.a_bit_of_everything())
    out = StringIO()
    call_command("export", "--experiment", str(experiment.pk), "--out", str(tmp_path), stdout=out)
    call_command("export", run.uid, "--out", str(tmp_path / "runs of one"), "--no-logs", stdout=out)
    (archive,) = tmp_path.glob("*.zip")
    assert (tmp_path / "runs of one" / f"esweb-run-{run.uid}.zip").exists()
    call_command("import_experiment", str(archive), "--owner", "bo", "--name", "Copy", stdout=out)
    assert "1 new run in Copy" in out.getvalue()
    assert Experiment.objects.get(owner=bo).runs.get().name == run.name
    for wrong in (["nosuchrun1"], [], ["--experiment", "999"]):
        with pytest.raises(CommandError):
            call_command("export", *wrong, "--out", str(tmp_path), stdout=out)
    with pytest.raises(CommandError, match="no zip"):
        call_command("import_experiment", __file__, "--owner", "bo", stdout=out)


def test_document_is_read_as_it_was_written() -> None:
    facts = ExperimentFacts("x", tags=("a",), thresholds={"b": None}, runs=("c",))
    assert ExperimentFacts.from_json(json.loads(json.dumps(facts.to_json()))) == facts
