"""POST /api/v1/imports: the same import, for scripts."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from runs.importing import uploads
from runs.models import Experiment, Run
from tests.runs.api_client import calls, paths
from tests.runs.importing.sample_logs import ENDED, HEADER, iteration

pytestmark = pytest.mark.usefixtures("runs_dir")
LOG = HEADER.format(seed=0) + "".join(map(iteration, (1, 2, 3, 4))) + ENDED


def file(text: str = LOG, name: str = "a.log") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text.encode())


def sent(script, *files, **more):
    return script.post("/api/v1/imports", {"files": list(files), **more})


def test_reply_lists_new_runs_and_unreadable_lines(ada):
    broken = LOG + "Iteration 9/4, Time: ##\n"
    answer = sent(calls(ada), file(broken), file("# no\n", "b.md"), experiment_name="Mine")
    assert answer.status_code == 200
    result = answer.json()
    run = Run.objects.get()
    assert result["files"][0]["made"] == [
        {"uid": run.uid, "name": run.name, "state": "succeeded", "url": f"/runs/{run.uid}/"}
    ]
    assert result["files"][0]["not_understood"] == [{"place": "line 18", "why": "iteration 9 has no readable number"}]
    assert [file["name"] for file in result["not_read"]] == ["b.md"]
    assert (result["experiment"]["name"], result["made_experiment"], result["said"]) == (
        "Mine", True, "1 new run in Mine; 1 file not read.",
    )  # fmt: skip


def test_nothing_that_could_be_read_is_422_with_each_file_s_reason(ada):
    answer = sent(calls(ada), file("# no\n", "a.md"), file("", "b.log"))
    assert answer.status_code == 422
    assert "Nothing was read. Supported are: ES and TRL logs, " in answer.json()["detail"]
    assert [problem["message"].split(":")[0] for problem in answer.json()["problems"]] == ["b.log", "a.md"]
    assert Experiment.objects.count() == 0


def test_upload_may_be_repeated(ada):
    script = calls(ada)
    sent(script, file())
    again = sent(script, file(name="other.log")).json()
    assert (again["files"][0]["made"], len(again["files"][0]["known"]), Run.objects.count()) == ([], 1, 1)


def test_only_an_own_experiment_can_be_the_target(ada, bo, experiment):
    assert sent(calls(ada), file(), experiment=experiment.pk).json()["experiment"]["id"] == experiment.pk
    refused = sent(calls(bo), file(), experiment=experiment.pk)
    assert (refused.status_code, Run.objects.count(), Experiment.objects.count()) == (403, 1, 1)


def test_invalid_fields_are_named(ada, experiment, monkeypatch):
    script = calls(ada)
    both = sent(script, file(), experiment=experiment.pk, experiment_name="x")
    assert both.status_code == 422
    assert "give either experiment (its id) or experiment_name" in str(paths(both))
    assert script.post("/api/v1/imports", {"experiment_name": "x"}).status_code == 422
    assert sent(script, *[file() for _ in range(101)]).status_code == 413
    monkeypatch.setattr(uploads, "MAX_UPLOAD_BYTES", 10)
    assert sent(script, file()).status_code == 413
    assert Run.objects.count() == 0


def test_a_token_that_only_reads_imports_nothing(ada):
    assert sent(calls(ada, "read"), file()).status_code == 403
    assert Run.objects.count() == 0
