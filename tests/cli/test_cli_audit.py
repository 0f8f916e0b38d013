"""`esweb audit-reward`, against the real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from esweb_client.cli.errors import BAD_INPUT, ENDED_BADLY, REFUSED
from runs.models import Cluster, Run
from tests.cli.background import repeating
from tests.cli.conftest import RunCli
from tests.runs.audit_runs import audit_records
from tests.runs.full_runs import record
from workers.executors.states import OPEN_STATES


@pytest.fixture
def config(tmp_path: Path, local: Cluster) -> str:
    file = tmp_path / "run.json"
    file.write_text(json.dumps({"method": "es", "task": {"name": "countdown"}, "es": {"sigma": 0.1},
                                "compute": {"cluster": "local", "cores": 2}, "model": {"path": "micro"}}))  # fmt: skip
    return str(file)


def finish(state: str = "succeeded") -> None:
    """End the audit with its records, as soon as it is there."""
    for run in Run.objects.filter(method="audit", state__in=OPEN_STATES):
        if state == "succeeded":
            record(run, audit_records())
        run.attempts.update(state=state)
        Run.objects.filter(pk=run.pk).update(state=state)


def test_audit_is_launched_without_waiting(run_cli: RunCli, config: str) -> None:
    code, out, err = run_cli("audit-reward", config, "--set", "audit.prompts=5")
    run = Run.objects.select_related("experiment").get()
    assert (code, err) == (0, "") and out.startswith(run.uid) and run.experiment.name == "Reward audits"
    settings = run.run_config
    assert (settings.method, settings.task.name, settings.model.path) == ("audit", "countdown", "micro")
    assert settings.audit and settings.audit.prompts == 5 and not settings.audit.asks_model
    assert settings.compute.cores == 1


def test_model_flag_asks_the_model(run_cli: RunCli, config: str) -> None:
    assert run_cli("audit-reward", config, "--model")[0] == 0
    settings = Run.objects.get().run_config.audit
    assert settings and (settings.samples, settings.members) == (16, 8)


def test_waiting_prints_the_table_and_compares_the_score(run_cli: RunCli, config: str) -> None:
    with repeating(finish):
        code, out, err = run_cli("audit-reward", config, "--max-score", "0.8")
        assert (code, err) == (0, "")
        assert "same-length" in out and "24/32" in out and "exploitability: 75 % (95 % interval 40 % to 95 %)" in out
        code, out, err = run_cli("audit-reward", config, "--max-score", "0.5")
        assert code == REFUSED and "the exploitability is 75 %, above 50 %" in err
        code, out, _ = run_cli("audit-reward", config, "--wait", "--json")
        assert code == 0 and json.loads(out.splitlines()[-1])["exploitability"]["value"] == 0.75


def test_failed_audit_has_its_exit_code(run_cli: RunCli, config: str) -> None:
    with repeating(lambda: finish("failed")):
        assert run_cli("audit-reward", config, "--wait")[0] == ENDED_BADLY


def test_bad_input_is_named(run_cli: RunCli, config: str, tmp_path: Path) -> None:
    code, _, err = run_cli("audit-reward", config, "--max-score", "75")
    assert code == BAD_INPUT and "a share from 0 to 1, not 75" in err
    (tmp_path / "other.json").write_text("{}")
    code, _, err = run_cli("audit-reward", str(tmp_path / "other.json"))
    assert code == BAD_INPUT and "must have a section task" in err
    code, _, err = run_cli("audit-reward", str(tmp_path / "missing.json"))
    assert code == BAD_INPUT and "cannot be read" in err
