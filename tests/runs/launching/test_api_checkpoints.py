"""Checkpoints over the API: listed, requested and downloaded."""

import pytest

from runs import launching
from runs.models import Rebuild
from tests.runs.api_client import calls
from tests.runs.checkpoint_files import WEIGHTS, fill, save, unpack_reply
from tests.runs.full_runs import make_run, record
from workers.executors.states import State
from workers.records import Member, Population


@pytest.fixture
def api(ada):
    return calls(ada, "launch")


@pytest.fixture
def run(experiment, local, runs_dir):
    """Return an ES run that has reached step 40 and saved step 20."""
    run = make_run(experiment)
    record(run, [Population(40, (Member(0, -40.0, z=1.0),))])
    save(run, 20)
    return run


def address(run, *more):
    return "/".join((f"/api/v1/runs/{run.uid}/checkpoints", *map(str, more)))


def test_existing_checkpoints_are_listed(api, run):
    body = api.get(address(run)).json()
    assert (body["last_step"], body["only_saved"]) == (40, "")
    (saved,) = body["items"]
    assert (saved["step"], saved["rebuilt"], saved["bytes"]) == (20, False, len(WEIGHTS) + 2)
    assert unpack_reply(api.get(saved["download"]))[f"{run.uid}-step-000020/config.json"] == b"{}"
    assert api.post(address(run, 20)).status_code == 200


def test_missing_checkpoint_is_rebuilt_at_the_same_address(api, run):
    first = api.post(address(run, 33))
    assert (first.status_code, first.json()["state"], first.json()["download"]) == (202, "created", None)
    assert api.get(address(run, 33, "download")).status_code == 404
    rebuild = Rebuild.objects.get()
    launching.update_facts(rebuild, progress=0.5)
    assert api.post(address(run, 33)).json()["progress"] == 0.5
    fill(rebuild.folder)
    launching.transition(rebuild, State.SUCCEEDED, "done", sha256="cd" * 32)
    done = api.post(address(run, 33))
    assert (done.status_code, done.json()["sha256"]) == (200, "cd" * 32)
    assert len(unpack_reply(api.get(done.json()["download"]))) == 2
    assert [item["step"] for item in api.get(address(run)).json()["items"]] == [33, 20]
    assert Rebuild.objects.count() == 1


def test_a_step_that_it_has_not_reached_is_refused_with_the_range(api, run):
    answer = api.post(address(run, 41))
    assert answer.status_code == 409 and "from 0 to 40" in answer.json()["detail"]
    assert api.post(address(run, -1)).status_code in (404, 422)
    assert api.post(address(run, 2**63)).status_code == 422


def test_a_grpo_run_has_what_it_saved(api, experiment, local, runs_dir):
    run = make_run(experiment, "grpo-tiny")
    save(run, 20)
    assert "Only saved checkpoints of a GRPO run" in api.get(address(run)).json()["only_saved"]
    assert api.post(address(run, 20)).status_code == 200
    assert api.post(address(run, 10)).status_code == 409


def test_a_reader_downloads_and_asks_for_none(bo, run):
    reader = calls(bo, "read")
    assert len(unpack_reply(reader.get(address(run, 20, "download")))) == 2
    assert reader.post(address(run, 33)).status_code == 403
    assert calls(bo, "admin").post(address(run, 33)).status_code == 403
