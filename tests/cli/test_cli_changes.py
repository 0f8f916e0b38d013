"""`esweb clone`, `rename` and `rm`, against the real server."""

from __future__ import annotations

import io
import json
import sys

import pytest
from django.contrib.auth.models import User

from esweb_client.cli.errors import BAD_INPUT, NOT_ALLOWED, NOT_FOUND, REFUSED
from runs.models import Cluster, Experiment, Run
from tests.cli.conftest import RunCli
from tests.runs.full_runs import make_run


class Terminal(io.StringIO):
    """Standard input of a user at a terminal."""

    def isatty(self) -> bool:
        return True


def test_clone_changes_seed_settings_and_experiment(run_cli: RunCli, run: Run, ada: User, bo: User) -> None:
    Experiment.objects.create(name="Other", owner=bo)
    other = Experiment.objects.create(name="Other", owner=ada)
    code, out, _ = run_cli(
        "clone", run.uid, "--seed", "7", "--set", "es.sigma=0.5", "--name", "wide", "--experiment", "Other"
    )
    clone = Run.objects.exclude(pk=run.pk).get()
    assert code == 0 and out.startswith(f"{clone.uid}  wide  http://")
    assert (clone.seed, clone.config["es"]["sigma"], clone.experiment) == (7, 0.5, other)
    assert clone.config["es"] == {**run.config["es"], "sigma": 0.5}


def test_clone_without_changes_is_a_copy(run_cli: RunCli, run: Run) -> None:
    uid = json.loads(run_cli("clone", run.uid, "--experiment", str(run.experiment_id), "--json")[1])["uid"]
    assert Run.objects.get(uid=uid).config == run.config


def test_invalid_clone_is_refused(run_cli: RunCli, run: Run, local: Cluster) -> None:
    code, _, err = run_cli("clone", run.uid, "--set", "es.sigma=-1")
    assert code == BAD_INPUT and "es.sigma" in err
    assert run_cli("clone", run.uid, "--set", "sigma")[0] == BAD_INPUT
    code, _, err = run_cli("clone", run.uid, "--experiment", "Nowhere")
    assert code == NOT_FOUND and "you have no experiment 'Nowhere'" in err
    assert run_cli("clone", "zzzzzzzzzz")[0] == NOT_FOUND
    assert Run.objects.count() == 1


def test_rename_changes_only_the_name(run_cli: RunCli, run: Run) -> None:
    assert run_cli("rename", run.uid, "baseline")[:2] == (0, f"{run.uid}  baseline\n")
    assert json.loads(run_cli("rename", run.uid, "again", "--json")[1])["name"] == "again"
    run.refresh_from_db()
    assert (run.name, run.tags) == ("again", [])


def test_rm_moves_runs_to_the_trash_and_restores_them(run_cli: RunCli, run: Run, experiment: Experiment) -> None:
    other = make_run(experiment, "es-micro", 1, "succeeded")
    code, out, _ = run_cli("rm", run.uid, other.uid)
    assert code == 0 and f"esweb rm --restore {other.uid}" in out
    assert not Run.objects.filter(deleted_at=None).exists()
    assert run_cli("rm", "--restore", run.uid)[:2] == (0, f"{run.uid}  restored\n")
    assert json.loads(run_cli("rm", "--restore", other.uid, "--json")[1]) == {"run": other.uid, "in_trash": False}
    assert Run.objects.filter(deleted_at=None).count() == 2


def test_rm_asks_at_a_terminal(run_cli: RunCli, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for reply, expected in (("n\n", REFUSED), ("", REFUSED), ("y\n", 0)):
        monkeypatch.setattr(sys, "stdin", Terminal(reply))
        code, _, err = run_cli("rm", run.uid)
        assert code == expected and f"Move run {run.uid} to the trash?" in err
        assert Run.objects.filter(deleted_at=None).exists() == bool(expected)
    monkeypatch.setattr(sys, "stdin", Terminal(""))
    run_cli("rm", "--restore", run.uid)
    assert run_cli("rm", "--yes", run.uid)[2] == ""


def test_run_of_another_user_is_not_changed(run_cli: RunCli, bo: User) -> None:
    run = make_run(Experiment.objects.create(name="Bo's", owner=bo))
    assert run_cli("rm", run.uid)[0] == run_cli("rename", run.uid, "mine")[0] == NOT_ALLOWED
    assert Run.objects.filter(deleted_at=None, name=run.name).exists()
