"""`esweb costs` and `esweb limits`, against the real server."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from runs import access
from runs.models import Cluster, Experiment, Limit
from tests.cli.conftest import Say
from tests.runs.launching.budgets.test_hours import ran


def test_costs_are_told_by_what_is_asked_for(say: Say, local: Cluster, experiment: Experiment) -> None:
    ran(experiment, 0.001, ended=timezone.now())
    ran(experiment, 2.0, gpus=2)
    code, out, _ = say("costs", "--by", "experiment", "--since", "all")
    assert code == 0 and out.splitlines()[0].split() == ["experiment", "gpu_hours", "cpu_hours", "runs"]
    assert out.splitlines()[1].split() == ["Concise", "4", "0.001", "2"]
    assert json.loads(say("costs", "--json")[1])["since"] == "month"


def test_limits_are_listed_and_set_by_admins(
    say: Say, ada: User, bo: User, monkeypatch: pytest.MonkeyPatch, local: Cluster
) -> None:
    assert say("limits", "--person", "bo", "--kind", "gpu", "--hours", "5")[0] == 3
    access.give_role(ada, "admin")
    assert say("limits", "--person", "bo", "--kind", "gpu")[0] == 2
    token = access.issue(ada, "admin")[1]
    monkeypatch.setenv("ESWEB_TOKEN", token)
    code, out, _ = say("limits", "--person", "bo", "--kind", "gpu", "--hours", "5")
    assert code == 0 and out.splitlines()[1].split()[1:] == ["bo", "gpu", "month", "5", "0", "0", "5"]
    assert say("limits", "--remove", str(Limit.objects.get().pk), "--json")[1] == "[]\n"
