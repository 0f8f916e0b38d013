"""What each command does, against the real server."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django.live_server_helper import LiveServer

from esweb.cli.account import account, account_file
from runs.models import Cluster, Experiment, Run
from tests.cli.conftest import Say
from tests.runs.attempt_records import answer
from tests.runs.full_runs import end, make_run, record
from workers.records import Metric


def test_login_tries_a_token_and_keeps_it_for_its_owner_alone(
    say: Say, token: str, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ESWEB_TOKEN")
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{token}\n"))
    code, out, _ = say("login", f"{live_server.url}/")
    assert code == 0 and "as ada (member, scope launch)" in out and token not in out
    assert stat.S_IMODE(account_file().stat().st_mode) == 0o600
    assert (account().url, account().token) == (live_server.url, token)
    assert say("ls")[0] == 0


def test_a_token_that_is_not_known_is_not_kept(
    say: Say, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for typed, expected in (("esw_wrong", 3), ("password", 2)):
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        assert say("login", live_server.url)[0] == expected
    assert not account_file().exists()


def test_launch_makes_a_run_in_an_experiment_by_name_with_knobs(say: Say, local: Cluster, tmp_path: Path) -> None:
    (tmp_path / "more.json").write_text('{"es": {"population": 4}}')
    code, out, _ = say(
        "launch", "Concise", "--preset", "es-micro", "--seed", "3", "--name", "first",
        "--set", "es.iterations=7", "--set", "es.noise=full", "--config", str(tmp_path / "more.json"),
    )  # fmt: skip
    run = Run.objects.get()
    assert code == 0 and out.startswith(f"{run.uid}  first  http://") and out.endswith(f"/runs/{run.uid}/\n")
    assert run.config["es"] == run.config["es"] | {"iterations": 7, "population": 4, "noise": "full"}
    assert (run.seed, run.experiment.name) == (3, "Concise")


def test_launch_makes_a_run_for_each_seed(say: Say, local: Cluster, experiment: Experiment) -> None:
    code, out, _ = say("launch", str(experiment.pk), "--preset", "es-micro", "--seeds", "0-2,7", "--json")
    assert [run["seed"] for run in json.loads(out)["items"]] == [0, 1, 2, 7]
    assert (code, Run.objects.count()) == (0, 4)


def test_launch_names_a_cluster_and_is_told_those_that_there_are(say: Say, local: Cluster) -> None:
    Cluster.objects.create(name="far", kind="slurm")
    assert say("launch", "Concise", "--preset", "es-micro", "--cluster", "far", "--set", "compute.cores=2")[0] == 0
    assert Run.objects.get().config["compute"]["cluster"] == "far" and Run.objects.get().config["compute"]["cores"] == 2
    code, _, err = say("launch", "Concise", "--preset", "es-micro", "--cluster", "moon")
    assert code == 2 and "compute.cluster: must be one of far, local, not 'moon'" in err


def test_ls_lists_what_is_asked_for(say: Say, run: Run, experiment: Experiment) -> None:
    other = make_run(experiment, "grpo-micro")
    Run.objects.filter(pk=other.pk).update(name="red \x1b[31m")
    assert [found["uid"] for found in json.loads(say("ls", "--method", "es", "--json")[1])] == [run.uid]
    assert len(json.loads(say("ls", "--limit", "1", "--json")[1])) == 1
    code, out, _ = say("ls")
    assert code == 0 and out.splitlines()[0].split()[:2] == ["uid", "state"]
    assert len(out.splitlines()) == 3 and "\x1b" not in out
    assert "Concise" in say("ls", "experiments")[1] and "es-micro" in say("ls", "presets")[1]


def test_watch_tells_each_change_and_ends_with_the_run(say: Say, run: Run) -> None:
    end(run, "succeeded")
    Run.objects.update(state="succeeded")
    code, out, _ = say("watch", run.uid)
    assert code == 0 and "succeeded" in out and "reward -40.9" in out and "kl 0.05" in out
    Run.objects.update(state="failed")
    code, out, _ = say("watch", run.uid, "--json")
    assert (code, json.loads(out)["state"], json.loads(out)["kl"]) == (6, "failed", 0.05)


def test_cancel_and_resume_ask_for_it(say: Say, run: Run) -> None:
    code, out, _ = say("cancel", run.uid)
    assert code == 0 and out.startswith(f"{run.uid}  cancel: asked for")
    assert run.attempts.get().cancel_requested_at is not None
    end(run, "cancelled")
    Run.objects.update(state="cancelled")
    assert say("resume", run.uid, "--json")[0] == 0
    assert run.attempts.count() == 2
    code, _, err = say("resume", run.uid)
    assert code == 1 and "has not ended" in err


def test_export_writes_every_point_and_every_answer(say: Say, run: Run, tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(say("export", run.uid, "--key", "kl")[1])))
    assert [(row["key"], row["step"], row["value"], row["overwritten"]) for row in rows] == [
        ("kl", "0", "0.0", "false"), ("kl", "5", "0.05", "false"),
    ]  # fmt: skip
    keys = {json.loads(line)["key"] for line in say("export", run.uid, "--json")[1].splitlines()}
    assert {"reward/mean", "train/reward/mean"} <= keys and not any(key.startswith("axes/") for key in keys)
    rows = list(csv.DictReader(io.StringIO(say("export", run.uid, "--key", "kl", "--key", "train/reward/mean")[1])))
    exact = "origin=evaluator; estimator=exact; decoding=sampled; temperature=1.0; samples=2"
    assert {(row["key"], row["measured"]) for row in rows} == {("kl", exact), ("train/reward/mean", "")}
    assert (
        json.loads(say("export", run.uid, "--key", "kl", "--json")[1].splitlines()[0])["measured"]["estimator"]
        == "exact"
    )
    file = tmp_path / "answers.jsonl"
    assert say("export", run.uid, "--what", "responses", "--format", "jsonl", "--step", "5", "--out", str(file))[
        :2
    ] == (0, "")
    answers = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(a["step"], a["text"], a["prompt"]) for a in answers] == [
        (5, "Madrid", "Capital of Spain?"), (5, "<script>alert(1)</script>", "Capital of Spain?"),
    ]  # fmt: skip


def test_export_refuses_data_that_no_run_has_and_leaves_out_runs_without_it(say: Say, run: Run) -> None:
    other = make_run(run.experiment, "es-micro", 1)
    record(other, [Metric(3, {"train/loss": 1.0}), answer(3, "Paris")])
    Run.objects.update(state="succeeded")
    code, out, err = say("export", run.uid, other.uid, "--key", "kl", "--key", "nosuch")
    assert (code, out) == (2, "") and "key must be one of accuracy/contains" in err
    lines = say("export", run.uid, other.uid, "--key", "kl", "--key", "train/loss", "--json")[1].splitlines()
    assert [(json.loads(line)["run"], json.loads(line)["key"]) for line in lines] == [
        (run.uid, "kl"), (run.uid, "kl"), (other.uid, "train/loss"),
    ]  # fmt: skip
    answers = ("export", run.uid, other.uid, "--what", "responses", "--json", "--step")
    code, out, err = say(*answers, "3")
    assert (code, len(out.splitlines())) == (0, 1)
    assert f"{run.uid} is left out: step must be one of 0, 5, not '3'." in err
    assert say(*answers, "4")[:2] == (2, "")


def test_what_goes_wrong_is_said_with_a_code_and_without_a_traceback(
    say: Say, run: Run, bo: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert say("watch", "zzzzzzzzzz")[0] == 4
    code, _, err = say("launch", "Concise", "--preset", "es-huge", "--set", "es.sigma=-1")
    assert code == 2 and "es-micro, es-paper" in err
    code, _, err = say("launch", "Concise", "--preset", "es-micro", "--set", "es.sigma=-1", "--json")
    assert code == 2 and json.loads(err)["problems"][0]["path"] == "es.sigma"
    assert say("launch", "x", "--set", "sigma")[0] == say("launch", "x", "--seeds", "a-b")[0] == 2
    assert not Run.objects.exclude(pk=run.pk).exists()
    monkeypatch.setenv("ESWEB_TOKEN", "esw_wrong")
    code, _, err = say("ls")
    assert code == 3 and "esw_" in err
    monkeypatch.delenv("ESWEB_TOKEN")
    assert "esweb login URL" in say("ls")[2]


def test_it_needs_nothing_but_the_base_install(tmp_path: Path) -> None:
    blocked = "import sys\nfor name in ('django', 'ninja', 'numpy', 'runs'): sys.modules[name] = None\n"
    said = subprocess.run(
        [sys.executable, "-c", f"{blocked}from esweb.cli.__main__ import main\nsys.exit(main(['ls']))"],
        env={"PATH": os.environ["PATH"], "XDG_CONFIG_HOME": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (said.returncode, said.stdout) == (3, "")
    assert said.stderr.startswith("esweb: not signed in")
