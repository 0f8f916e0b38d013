"""The launch form shows the pre-flight check of its runs while it is filled in."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from runs.models import Cluster, Experiment
from tests.runs.launching.test_launch_check import took
from tests.runs.launching.test_launch_page import sent
from tests.runs.model_files import QWEN2_7B, write_model_config
from workers.config.resources import BUILT_IN_MODELS

pytestmark = pytest.mark.django_db
Check = Callable[..., dict[str, str]]


class Usage(NamedTuple):
    """Bytes of a disk, as shutil.disk_usage returns them."""

    total: int
    used: int
    free: int


@pytest.fixture
def cached_models(tmp_path: Path, settings: Settings) -> Path:
    """Return a folder of the built-in models for this test. Those of all tests exist only once one has made them."""
    settings.CACHE_DIR = tmp_path / "cache"
    models = tmp_path / "cache" / "models"
    for name in BUILT_IN_MODELS:
        write_model_config(models / f"{name}-0-0", QWEN2_7B | {"num_hidden_layers": 2})
    return models


@pytest.fixture
def check(ada_client: Client, experiment: Experiment, local: Cluster, tmp_path: Path, cached_models: Path) -> Check:
    """Return a function that sends the form and returns head -> text of the panel's rows. The title is `title`."""
    write_model_config(tmp_path / "qwen", QWEN2_7B)
    local.config = {"data_paths": [str(tmp_path)], "gpus": ["0"]}
    local.save()

    def post(**typed: Any) -> dict[str, str]:
        answer = ada_client.post(reverse("launch-check", args=[experiment.pk]), sent(**typed))
        assert answer.status_code == 200
        [panel] = re.findall(
            r'<div hx-swap-oob="innerHTML:#preflight">(.*?)</div>\s*<field', answer.content.decode(), re.S
        )
        summary = panel.partition('<div id="gpu-memory">')[0]
        rows = re.findall(r'<th scope="row">(.*?)</th>(.*?)</tr>', summary, re.S)
        titles = re.findall(r"<h2.*?>(.*?)</h2>", summary, re.S)
        return {head: text_of(content) for head, content in [*rows, *(("title", title) for title in titles)]}

    return post


def text_of(html: str) -> str:
    """Return HTML without its tags, each run of spaces as one."""
    return " ".join(re.sub("<[^>]*>", " ", html).replace("\xa0", " ").split())


def test_panel_is_ready_for_a_run_that_lacks_nothing(check: Check) -> None:
    rows = check()

    assert "nothing is missing" in rows["title"]
    assert rows["Rights"].startswith("✓ ok") and rows["Model"].startswith("✓ ok")
    assert "No estimate" in rows["Hours"]


def test_panel_counts_the_checkpoints_of_all_seeds(check: Check) -> None:
    typed = {"model.path": "qwen", "model.dtype": "bfloat16", "es.iterations": "10", "es.checkpoint_every": "5"}
    one, three = check(**typed)["Disk"], check(seeds="0-2", **typed)["Disk"]

    newest = "the newest of 42.6 GB (weights 14.2 GB, float32 master 28.4 GB, tokenizer and settings"
    assert f"2 checkpoints, {newest}" in one
    assert "All runs: at most 56.7 GB at once, 14.2 GB after the end." in one
    assert "All runs: at most 170.2 GB at once, 42.6 GB after the end." in three


def test_panel_warns_if_the_disk_is_too_small(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(10**9, 10**9 - 10**6, 10**6))
    rows = check(**{"model.path": "qwen"})

    assert "1 problem" in rows["title"]
    assert rows["Disk"].startswith("✗ too little") and "Save checkpoints less often, or free space." in rows["Disk"]


def test_panel_does_not_measure_the_disk_of_a_remote_cluster(check: Check, local: Cluster) -> None:
    assert "Free:" in check()["Disk"]
    local.kind, local.config = "slurm", local.config | {"address": "login.example.org", "folder": "/srv"}
    local.save()
    assert "Free:" not in check()["Disk"]


def test_panel_states_the_range_of_past_runs(check: Check, experiment: Experiment) -> None:
    for seconds in (60, 90, 180):
        took(experiment, seconds)

    assert "about 1 min 30 s (1 min 00 s to 3 min 00 s, by 3 past runs). All runs: about" in check()["Hours"]


def test_panel_multiplies_hours_by_gpus(check: Check, experiment: Experiment) -> None:
    run = took(experiment, 3600)
    run.config["compute"] |= {"gpus": 1}
    run.save()

    assert "All runs: about 2 GPU-hours." in check(seeds="0, 1", **{"compute.gpus": "1"})["Hours"]


def test_panel_multiplies_hours_by_the_share_of_past_runs(check: Check, experiment: Experiment) -> None:
    run = took(experiment, 3600)
    run.config["compute"] |= {"gpus": "auto"}
    run.save()
    run.attempts.update(gpu_share=0.25)

    assert "All runs: about 0.500 GPU-hours." in check(seeds="0, 1", **{"compute.gpus": "auto"})["Hours"]


def test_panel_does_not_vouch_for_the_disk_of_a_built_in_model_that_is_not_made_yet(
    check: Check, cached_models: Path
) -> None:
    shutil.rmtree(cached_models)
    rows = check(**{"model.path": "micro"})

    assert "The first run also makes the micro model, once" in rows["Model"]
    assert "1 thing is known only on the cluster" in rows["title"]


def test_panel_names_what_is_known_only_on_the_cluster(check: Check) -> None:
    rows = check(**{"model.path": "Qwen/Qwen2.5-7B"})

    assert "known only on the cluster" in rows["title"] and rows["Model"].startswith("? unknown")


def test_panel_does_not_vouch_for_the_gpu_memory_of_evaluations(check: Check) -> None:
    rows = check(method="evaluate", **{"compute.gpus": "1"})

    assert rows["GPU memory"].startswith("? unknown") and "known only on the cluster" in rows["title"]


def test_panel_is_empty_while_the_form_has_problems(check: Check) -> None:
    assert check(**{"es.sigma": "many"}) == {}


def test_panel_of_a_sweep_covers_all_its_runs(check: Check) -> None:
    rows = check(**{"sweep-key_1": "model.path", "sweep-values_1": "qwen, micro, tiny", "sweep-at_once": "2"})

    assert "?" not in rows["Rights"] and "nothing is missing" in rows["title"]


def test_panel_has_no_checkpoints_without_training(check: Check) -> None:
    assert "No checkpoints: nothing is trained." in check(method="evaluate")["Disk"]
