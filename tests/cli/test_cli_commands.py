"""Each command of `esweb`, against the real server."""

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

from esweb_client.cli import csv_cells, watch
from esweb_client.cli.account import account, account_file
from runs.models import Cluster, Experiment, Flag, Run
from tests.cli.conftest import RunCli
from tests.runs.attempt_records import answer
from tests.runs.full_runs import end, make_run, record
from workers import csv_cells as server_csv_cells
from workers.executors.states import OPEN_STATES
from workers.records import Metric


def test_login_saves_working_token_privately(
    run_cli: RunCli, token: str, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ESWEB_TOKEN")
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{token}\n"))
    code, out, _ = run_cli("login", f"{live_server.url}/")
    assert code == 0 and "as ada (member, scope launch)" in out and token not in out
    assert stat.S_IMODE(account_file().stat().st_mode) == 0o600
    assert (account().url, account().token) == (live_server.url, token)
    assert run_cli("ls")[0] == 0


def test_login_does_not_save_unknown_token(
    run_cli: RunCli, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for typed, expected in (("esw_wrong", 3), ("password", 2)):
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        assert run_cli("login", live_server.url)[0] == expected
    assert not account_file().exists()


def test_launch_creates_run_with_settings(run_cli: RunCli, local: Cluster, tmp_path: Path) -> None:
    (tmp_path / "more.json").write_text('{"es": {"population": 4}}')
    code, out, _ = run_cli(
        "launch", "Concise", "--preset", "es-micro", "--seed", "3", "--name", "first",
        "--set", "es.iterations=7", "--set", "es.noise=full", "--config", str(tmp_path / "more.json"),
    )  # fmt: skip
    run = Run.objects.get()
    assert code == 0 and out.startswith(f"{run.uid}  first  http://") and out.endswith(f"/runs/{run.uid}/\n")
    assert run.config["es"] == run.config["es"] | {"iterations": 7, "population": 4, "noise": "full"}
    assert (run.seed, run.experiment.name) == (3, "Concise")


def test_launch_creates_run_for_each_seed(run_cli: RunCli, local: Cluster, experiment: Experiment) -> None:
    code, out, _ = run_cli("launch", str(experiment.pk), "--preset", "es-micro", "--seeds", "0-2,7", "--json")
    assert [run["seed"] for run in json.loads(out)["items"]] == [0, 1, 2, 7]
    assert (code, Run.objects.count()) == (0, 4)


def test_launch_accepts_known_clusters(run_cli: RunCli, local: Cluster) -> None:
    Cluster.objects.create(name="far", kind="slurm")
    assert run_cli("launch", "Concise", "--preset", "es-micro", "--cluster", "far", "--set", "compute.cores=2")[0] == 0
    assert Run.objects.get().config["compute"]["cluster"] == "far" and Run.objects.get().config["compute"]["cores"] == 2
    code, _, err = run_cli("launch", "Concise", "--preset", "es-micro", "--cluster", "moon")
    assert code == 2 and "compute.cluster: must be one of far, local, not 'moon'" in err


def test_ls_filters_and_limits_runs(run_cli: RunCli, run: Run, experiment: Experiment) -> None:
    other = make_run(experiment, "grpo-micro")
    Run.objects.filter(pk=other.pk).update(name="red \x1b[31m")
    assert [row["uid"] for row in json.loads(run_cli("ls", "--method", "es", "--json")[1])] == [run.uid]
    assert len(json.loads(run_cli("ls", "--limit", "1", "--json")[1])) == 1
    code, out, _ = run_cli("ls")
    assert code == 0 and out.splitlines()[0].split()[:2] == ["uid", "state"]
    assert len(out.splitlines()) == 3 and "\x1b" not in out
    assert "Concise" in run_cli("ls", "experiments")[1] and "es-micro" in run_cli("ls", "presets")[1]


def test_watch_prints_changes_until_run_finishes(run_cli: RunCli, run: Run) -> None:
    end(run, "succeeded")
    Run.objects.update(state="succeeded")
    code, out, _ = run_cli("watch", run.uid)
    assert code == 0 and "succeeded" in out and "reward -40.9" in out and "kl 0.05" in out
    Run.objects.update(state="failed")
    code, out, _ = run_cli("watch", run.uid, "--json")
    assert (code, json.loads(out)["state"], json.loads(out)["kl"]) == (6, "failed", 0.05)


def test_ls_and_watch_print_open_flags(run_cli: RunCli, run: Run) -> None:
    values = {"step": 5, "first_step": 5, "value": 1.0, "limit": 0.1, "n": 2, "detected_at": run.created_at}
    Flag.objects.create(run=run, detector="empty", **values)
    end(run, "succeeded")
    Run.objects.update(state="succeeded")
    assert "  empty  " in run_cli("ls")[1]
    assert "flags: Empty responses" in run_cli("watch", run.uid)[1]
    assert json.loads(run_cli("watch", run.uid, "--json")[1])["flags"] == ["Empty responses"]


def test_cancel_and_resume_request_changes(run_cli: RunCli, run: Run) -> None:
    code, out, _ = run_cli("cancel", run.uid)
    assert code == 0 and out.startswith(f"{run.uid}  cancel requested")
    assert run.attempts.get().cancel_requested_at is not None
    end(run, "cancelled")
    Run.objects.update(state="cancelled")
    assert run_cli("resume", run.uid, "--json")[0] == 0
    assert run.attempts.count() == 2
    code, _, err = run_cli("resume", run.uid)
    assert code == 1 and "has not ended" in err


def test_export_writes_all_points_and_responses(run_cli: RunCli, run: Run, tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(run_cli("export", run.uid, "--key", "kl")[1])))
    assert [(row["key"], row["step"], row["value"], row["overwritten"]) for row in rows] == [
        ("kl", "0", "0.0", "false"), ("kl", "5", "0.05", "false"),
    ]  # fmt: skip
    keys = {json.loads(line)["key"] for line in run_cli("export", run.uid, "--json")[1].splitlines()}
    assert {"reward/mean", "train/reward/mean"} <= keys and not any(key.startswith("axes/") for key in keys)
    rows = list(csv.DictReader(io.StringIO(run_cli("export", run.uid, "--key", "kl", "--key", "train/reward/mean")[1])))
    exact = "origin=evaluator; estimator=exact; decoding=sampled; temperature=1.0; samples=2"
    assert {(row["key"], row["measured"]) for row in rows} == {("kl", exact), ("train/reward/mean", "")}
    assert (
        json.loads(run_cli("export", run.uid, "--key", "kl", "--json")[1].splitlines()[0])["measured"]["estimator"]
        == "exact"
    )
    file = tmp_path / "answers.jsonl"
    assert run_cli("export", run.uid, "--what", "responses", "--format", "jsonl", "--step", "5", "--out", str(file))[
        :2
    ] == (0, "")
    answers = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(a["step"], a["text"], a["prompt"]) for a in answers] == [
        (5, "Madrid", "Capital of Spain?"), (5, "<script>alert(1)</script>", "Capital of Spain?"),
    ]  # fmt: skip


def test_export_skips_runs_without_requested_data(run_cli: RunCli, run: Run) -> None:
    other = make_run(run.experiment, "es-micro", 1)
    record(other, [Metric(3, {"train/loss": 1.0}), answer(3, "Paris")])
    Run.objects.update(state="succeeded")
    code, out, err = run_cli("export", run.uid, other.uid, "--key", "kl", "--key", "nosuch")
    assert (code, out) == (2, "") and "key must be one of accuracy/right" in err
    lines = run_cli("export", run.uid, other.uid, "--key", "kl", "--key", "train/loss", "--json")[1].splitlines()
    assert [(json.loads(line)["run"], json.loads(line)["key"]) for line in lines] == [
        (run.uid, "kl"), (run.uid, "kl"), (other.uid, "train/loss"),
    ]  # fmt: skip
    answers = ("export", run.uid, other.uid, "--what", "responses", "--json", "--step")
    code, out, err = run_cli(*answers, "3")
    assert (code, len(out.splitlines())) == (0, 1)
    assert f"{run.uid} is skipped: step must be one of 0, 5, not '3'." in err
    assert run_cli(*answers, "4")[:2] == (2, "")


def test_failures_have_exit_code_and_message(
    run_cli: RunCli, run: Run, bo: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_cli("watch", "zzzzzzzzzz")[0] == 4
    code, _, err = run_cli("launch", "Concise", "--preset", "es-huge", "--set", "es.sigma=-1")
    assert code == 2 and "es-micro, es-safety-micro" in err
    code, _, err = run_cli("launch", "Concise", "--preset", "es-micro", "--set", "es.sigma=-1", "--json")
    assert code == 2 and json.loads(err)["problems"][0]["path"] == "es.sigma"
    assert run_cli("launch", "x", "--set", "sigma")[0] == run_cli("launch", "x", "--seeds", "a-b")[0] == 2
    assert not Run.objects.exclude(pk=run.pk).exists()
    monkeypatch.setenv("ESWEB_TOKEN", "esw_wrong")
    code, _, err = run_cli("ls")
    assert code == 3 and "esw_" in err
    monkeypatch.delenv("ESWEB_TOKEN")
    assert "esweb login URL" in run_cli("ls")[2]


def test_cli_needs_only_base_install(tmp_path: Path) -> None:
    blocked = "import sys\nfor name in ('django', 'ninja', 'numpy', 'runs'): sys.modules[name] = None\n"
    result = subprocess.run(
        [sys.executable, "-c", f"{blocked}from esweb_client.cli.__main__ import main\nsys.exit(main(['ls']))"],
        env={"PATH": os.environ["PATH"], "XDG_CONFIG_HOME": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr.startswith("esweb: not signed in")


def test_rules_that_the_client_repeats_are_those_of_the_server() -> None:
    """The client imports nothing of the server, so it has copies of two small rules."""
    assert watch.OPEN_STATES == OPEN_STATES
    cells = ["", "a", "=1+1", "+1", "-3", "-3.5e-7", "-x", "@sum", "\tx", "\nx", "\uff1d1", 3, -3.5, None, "1e400"]
    assert list(map(csv_cells.inert, cells)) == list(map(server_csv_cells.inert, cells))
    fields = {"origin": "import", "estimator": None, "n": 3}
    assert csv_cells.fields_text(fields) == server_csv_cells.fields_text(fields)
