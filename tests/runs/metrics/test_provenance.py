"""A held-out series reports its source, its estimator and the answers that it was measured on."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from runs import metrics
from runs.metrics import Provenance
from runs.models import Experiment, Run
from runs.run_page import plans
from tests.cases import each_case
from tests.runs.api_client import calls
from tests.runs.full_runs import evaluation, make_run, record
from tests.runs.importing.test_documents import evaluation as evaluation_file
from workers.analysis.keys import CAPTURED, PREFERS_RIGHT
from workers.records import Metric

pytestmark = pytest.mark.django_db
K3 = "k3 estimate, 20 samples a prompt at T = 0.7, imported"


@pytest.fixture
def native(experiment: Experiment) -> Run:
    run = make_run(experiment)
    record(run, [evaluation(0, -40), evaluation(5, -9)])
    return run


@pytest.fixture
def imported(experiment: Experiment, tmp_path: Path) -> Run:
    """Return an evaluation as it was published: 20 samples a prompt at temperature 0.7."""
    document = evaluation_file()
    document["config"] = {**document.get("config", {}), "do_sample": True, "temperature": 0.7, "num_samples": 20}
    (tmp_path / "alpha0.0005_sigma0.001.json").write_text(json.dumps(document))
    call_command(
        "import", str(tmp_path), experiment=experiment.name, owner=experiment.owner.username, stdout=StringIO()
    )
    return Run.objects.filter(source__kind="evaluation").order_by("pk")[0]


def words(run: Run, key: str) -> str:
    provenance = metrics.provenance(run.config, key, metrics.origins_of([run])[run.pk])
    assert provenance is not None
    return provenance.words


def test_native_series_follow_the_evaluation_of_the_config(native: Run) -> None:
    settings = native.config["evaluation"]
    sampled = f"{settings['samples']} samples a prompt at T = {settings['temperature']:g}"
    assert words(native, "reward/mean") == words(native, "accuracy/contains") == "greedy"
    assert words(native, "kl") == f"exact, {sampled}"
    assert words(native, "kl/k3") == f"k3 estimate, {sampled}"
    assert words(native, "sample/reward/mean") == sampled


def test_imported_evaluation_is_neither_exact_nor_greedy(imported: Run) -> None:
    assert words(imported, "kl") == words(imported, "kl/k3") == K3
    assert words(imported, "reward/mean") == "20 samples a prompt at T = 0.7, imported"


def test_greedy_file_is_greedy_and_a_silent_one_is_unknown() -> None:
    greedy = {"evaluation": {"temperature": 0.7}, "imported": {"evaluation_do_sample": False}}
    assert metrics.provenance(greedy, "reward/mean", "import:evaluation") == Provenance("import", "mean", "greedy")
    for origin in ("import:evaluation", "import:tensorboard", "push"):
        provenance = metrics.provenance({}, "reward/mean", origin)
        assert provenance == Provenance(origin.partition(":")[0], "mean") and "decoding unknown" in provenance.words
    assert metrics.provenance({}, "kl", "push") == Provenance("push", "unknown")


@each_case("origin", ["import:log", "import:tensorboard", "push", "external"])
def test_key_that_names_its_estimator_has_it(origin: str) -> None:
    assert metrics.provenance({}, "kl/k3", origin) == Provenance(origin.partition(":")[0], "k3")


def test_training_series_have_no_provenance() -> None:
    assert [metrics.provenance({}, key, "evaluator") for key in ("train/kl", "es/dead", "lambda")] == [None] * 3


def test_evaluation_by_captured_steps_in_16_bits_says_so(experiment: Experiment, native: Run) -> None:
    captured = make_run(experiment, seed=2)
    record(captured, [replace(e, values=e.values | {CAPTURED: 1.0}) for e in (evaluation(0, -40), evaluation(5, -9))])
    assert words(captured, "reward/mean") == "greedy, captured steps" and words(native, "reward/mean") == "greedy"
    assert words(captured, "kl") == words(native, "kl") + ", captured steps"
    assert words(captured, PREFERS_RIGHT) == words(native, PREFERS_RIGHT), "no response is read"
    origins = metrics.origins_of([captured, native])
    rounded = metrics.provenance(captured.config, "reward/mean", origins[captured.pk])
    assert rounded is not None
    assert rounded.text == "origin=evaluator; estimator=mean; decoding=greedy; rounding=captured"
    assert metrics.provenance(captured.config, CAPTURED, origins[captured.pk]) is None


def test_run_page_shows_the_provenance_of_its_series(ada_client: Client, native: Run, imported: Run) -> None:
    record(native, [Metric(6, {"response/tokens_mean": 3.0}, {})])
    page, page_of_imported = (
        ada_client.get(reverse("run-curves", args=[run.uid])).content.decode() for run in (native, imported)
    )
    assert "(greedy)" in page and "Mean over held-out prompts. Greedy." in page
    assert K3 in page_of_imported and "(exact" not in page_of_imported and "(greedy)" not in page_of_imported


def test_charts_mark_runs_measured_differently(ada_client: Client, native: Run, imported: Run) -> None:
    compare = ada_client.get(reverse("compare"), {"run": [native.uid, imported.uid]}).content.decode()
    for page in (ada_client.get(native.experiment.get_absolute_url()).content.decode(), compare):
        assert "These series were measured differently" in page and K3 in page
        assert "same evaluator" not in page and "common evaluator" not in page


def test_charts_of_runs_measured_alike_give_no_warning(ada_client: Client, native: Run) -> None:
    page = ada_client.get(native.experiment.get_absolute_url()).content.decode()
    assert "measured differently" not in page and "1 run: greedy." in page


def test_api_gives_the_provenance_of_each_curve(ada: User, imported: Run) -> None:
    query = {"run": imported.uid, "key": ["kl", "reward/mean"]}
    curves = calls(ada, "read").get("/api/v1/series", query).json()["curves"]
    sampled = {"decoding": "sampled", "temperature": 0.7, "samples": 20, "origin": "import", "rounding": None}
    assert {curve["key"]: curve["measured"] for curve in curves} == {
        "kl": {"estimator": "k3", **sampled}, "reward/mean": {"estimator": "mean", **sampled}
    }  # fmt: skip


def test_no_caption_claims_what_depends_on_the_run() -> None:
    specs = [s for plan in plans(["reward/mean", "kl", "accuracy/right", "response/tokens_mean"]) for s in plan.specs]
    texts = {spec.name: " ".join([spec.help, *(name for _, name in spec.lines)]).lower() for spec in specs}
    assert set(texts) == {"reward", "kl", "accuracy", "length"}
    assert not any("greedy" in words for words in texts.values())
    assert not any("exact" in name.lower() for spec in specs if spec.name == "kl" for _, name in spec.lines)
