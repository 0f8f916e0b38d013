"""Folders that runs on a GPU left behind: those of the command alone, and four attempts of a site, in any order."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from runs import metrics
from runs.models import Run
from tests.runs.importing.run_folders.folders import import_path, remarks_of

DATA = next((p / "shared" / "data" for p in Path(__file__).parents[3:7] if (p / "shared" / "data").is_dir()), None)
pytestmark = [pytest.mark.django_db, pytest.mark.skipif(DATA is None, reason="needs ../shared/data/smollm2")]
SECONDS = 60.0
SAMPLE = {
    "es-a0.0005-s0.003-seed2": ("es", 2, "unknown", 111, 360),
    "grpo-lr3e-05-b0.04-seed1": ("grpo", 1, "succeeded", 80, 840),
}


@pytest.fixture(autouse=True)
def _runs_dir(settings: Settings, tmp_path: Path) -> None:
    settings.RUNS_DIR = tmp_path / "runs"


def test_folders_of_the_command_become_their_runs(ada: User, tmp_path: Path) -> None:
    """A training that was killed is of unknown state, with the step at which its records end."""
    for name in SAMPLE:
        shutil.copytree(DATA / "smollm2" / name, tmp_path / "some" / name)  # type: ignore[operator]
    imported = import_path(tmp_path / "some", ada)
    assert remarks_of(imported) == []
    facts = [fact for outcome in imported.outcomes for fact in outcome.report.facts]
    assert [fact.partition(":")[0] for fact in facts] == ["how some/es-a0.0005-s0.003-seed2 ended is unknown"]
    runs = {run.name: run for run in Run.objects.all()}
    assert {
        name: (run.method, run.seed, run.state, run.population_set.count(), run.response_set.count())
        for name, run in runs.items()
    } == SAMPLE
    reason = runs["es-a0.0005-s0.003-seed2"].attempts.get().reason
    assert "the last step is 111 of 150, and there is no exit record" in reason
    assert set(metrics.origins_of(list(runs.values())).values()) == {"evaluator"}


def test_evaluation_and_probe_join_runs_that_are_imported_later(ada: User) -> None:
    for start in ("d9cf", "hqfh", "t4gv", "skux"):
        (folder,) = (DATA / "smollm2-site").glob(f"{start}*")  # type: ignore[operator]
        assert remarks_of(import_path(folder, ada)) == []
    es, grpo, evaluation, probe = (Run.objects.get(method=name) for name in ("es", "grpo", "evaluate", "probe"))
    assert (evaluation.parent, probe.parent) == (es, grpo)
    assert {es.state, grpo.state, evaluation.state, probe.state} == {"succeeded"}
    subjects = set(probe.proberesult_set.values_list("subject", flat=True))
    assert subjects == {f"{es.uid}@40", f"{grpo.uid}@40", "base"}
    assert not import_path(DATA / "smollm2-site", ada).new_runs  # type: ignore[operator]


@pytest.mark.soak
def test_all_folders_of_the_command_are_imported_within_a_minute(ada: User) -> None:
    began = time.monotonic()
    imported = import_path(DATA / "smollm2", ada)  # type: ignore[operator]
    assert time.monotonic() - began < SECONDS
    states = sorted(Run.objects.values_list("state", flat=True))
    assert (len(imported.new_runs), states.count("succeeded"), states.count("unknown")) == (22, 17, 5)
    assert all(
        "ends with the status training" in run.attempts.get().reason for run in Run.objects.filter(state="unknown")
    )
