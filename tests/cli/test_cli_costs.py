"""`esweb costs` and `esweb limits`, against the real server."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from runs import access
from runs.models import Cluster, Experiment, Limit
from tests.cli.conftest import RunCli
from tests.runs.launching.budgets.test_hours import make_ended_run


def test_costs_are_grouped_as_requested(run_cli: RunCli, local: Cluster, experiment: Experiment) -> None:
    make_ended_run(experiment, 0.001, ended=timezone.now())
    make_ended_run(experiment, 2.0, gpus=2)
    code, out, _ = run_cli("costs", "--by", "experiment", "--since", "all")
    assert code == 0 and out.splitlines()[0].split() == ["experiment", "gpu_hours", "cpu_hours", "runs"]
    assert out.splitlines()[1].split() == ["Concise", "4", "0.001", "2"]
    assert json.loads(run_cli("costs", "--json")[1])["since"] == "month"


def test_limits_are_listed_and_set_by_admins(
    run_cli: RunCli, ada: User, bo: User, monkeypatch: pytest.MonkeyPatch, local: Cluster
) -> None:
    assert run_cli("limits", "--person", "bo", "--kind", "gpu", "--hours", "5")[0] == 3
    access.give_role(ada, "admin")
    assert run_cli("limits", "--person", "bo", "--kind", "gpu")[0] == 2
    token = access.issue(ada, "admin")[1]
    monkeypatch.setenv("ESWEB_TOKEN", token)
    code, out, _ = run_cli("limits", "--person", "bo", "--kind", "gpu", "--hours", "5")
    assert code == 0 and out.splitlines()[1].split()[1:] == ["bo", "gpu", "month", "5", "0", "0", "5"]
    assert run_cli("limits", "--remove", str(Limit.objects.get().pk), "--json")[1] == "[]\n"
