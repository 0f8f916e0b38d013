"""The launch page shows what a preset needs, and adapts it to a smaller cluster by one click."""

from __future__ import annotations

import html
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from runs.models import Experiment, Run
from tests.runs.clusters.stored_inventories import make_cluster
from tests.runs.launching.test_config_form import sent
from workers.executors.base import NodeShape

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
GRPO = "grpo-conciseness-paper"


@pytest.fixture
def address(experiment: Experiment) -> str:
    return reverse("launch", args=[experiment.pk])


def text_of(answer: Any) -> str:
    """Return a page with single spaces, and without HTML entities."""
    return html.unescape(" ".join(answer.content.decode().split()))


def form_for(preset: str, cluster: str, **typed: Any) -> dict[str, Any]:
    """Return the form of a preset, without files, which the clusters of these tests do not have."""
    files = {"task.conciseness.train_file": "", "task.conciseness.eval_file": ""}
    return sent(preset, **{"compute.cluster": cluster} | files | typed)


def make_small_cluster() -> None:
    """Create a cluster with one node of two H100."""
    make_cluster("small", "slurm", NodeShape(1, 8, 0, 2, "h100"))


def test_panel_states_needs_of_a_published_preset(ada_client: Client, address: str) -> None:
    page = text_of(ada_client.get(address, {"preset": "es-conciseness-paper"}))
    assert "4 GPUs of 80 GB on 1 node. Duration: 1.8 to 4.3 hours (4 × H100 80 GB" in page
    assert "<code>conciseness/train.jsonl</code>" in page and "(MIT)" in page
    assert "es.noise correlated reproduces that." in page


def test_panel_states_unknown_hours_and_services(ada_client: Client, address: str) -> None:
    page = text_of(ada_client.get(address, {"preset": "es-safety-paper"}))
    assert "Its duration is unknown: no source states it." in page
    assert "scorer <code>beaver</code>:" in page


def test_panel_of_a_tiny_preset_states_that_it_needs_nothing(ada_client: Client, address: str) -> None:
    assert "no GPU and no files." in text_of(ada_client.get(address, {"preset": "es-tiny"}))


def test_former_name_fills_the_form_of_the_current_preset(ada_client: Client, address: str) -> None:
    page = text_of(ada_client.get(address, {"preset": "es-paper"}))
    assert '<option value="es-conciseness-paper" selected>' in page


def test_check_states_the_shortage_and_offers_the_adaptation(ada_client: Client, address: str) -> None:
    make_small_cluster()
    page = text_of(ada_client.post(f"{address}check/", form_for(GRPO, "small")))
    assert "must be at most 2, not 4: no node of cluster small has more" in page
    assert "the config needs 4 of 80 GB, and cluster small has 2 of 80 GB." in page
    assert '<button class="plain" name="adapt" value="small">' in page


def test_adaptation_refills_the_form_and_lists_changes(ada_client: Client, address: str) -> None:
    make_small_cluster()
    answer = ada_client.post(address, form_for(GRPO, "small", adapt="small", seeds="0-3", name="pair"))
    page = text_of(answer)
    assert answer.status_code == 200 and not Run.objects.exists()
    changed = [change.path for change in answer.context["adapted"].changes]
    assert changed == [
        "compute.cores", "compute.gpus", "grpo.gradient_accumulation_steps", "grpo.gradient_checkpointing",
        "grpo.lora", "grpo.sharding",
    ]  # fmt: skip
    assert 'name="compute.gpus" value="2"' in page and 'name="seeds" value="0-3"' in page
    assert 'name="grpo.gradient_accumulation_steps" value="30"' in page and 'name="name" value="pair"' in page
    assert "completions per step, and so the gradient, stay the same." in page
    assert "This changes the method: a LoRA adapter is trained" in page


def test_adapted_form_needs_no_further_adaptation(ada_client: Client, address: str) -> None:
    make_small_cluster()
    form = ada_client.post(address, form_for(GRPO, "small", adapt="small")).context["form"]
    adapted = {name: value for name, value in form.initial.items() if value is not None and value is not False}
    page = text_of(ada_client.post(f"{address}check/", adapted))
    assert "Adapt to this cluster" not in page and "must be at most 2" not in page


def test_preset_selected_again_undoes_the_adaptation(ada_client: Client, address: str) -> None:
    make_small_cluster()
    page = text_of(ada_client.post(address, form_for(GRPO, "small", adapt="small")))
    assert f'<a href="{address}?preset={GRPO}">' in page
    assert 'name="compute.gpus" value="4"' in text_of(ada_client.get(address, {"preset": GRPO}))


def test_cluster_without_gpus_is_refused_with_a_preset_for_it(ada_client: Client, address: str) -> None:
    make_cluster("cpus", "slurm", NodeShape(2, 16))
    page = text_of(ada_client.post(address, form_for(GRPO, "cpus", adapt="cpus")))
    assert "cluster cpus has none for this run." in page
    assert "A model of this size cannot be trained there." in page
    assert f'<a href="{address}?preset=grpo-tiny">' in page
    assert 'name="adapt"' not in page


def test_refused_launch_offers_the_adaptation_without_scripts(ada_client: Client, address: str) -> None:
    make_small_cluster()
    answer = ada_client.post(address, form_for(GRPO, "small"))
    assert answer.status_code == 400 and 'name="adapt" value="small"' in text_of(answer)
    assert not Run.objects.exists()


def test_check_states_that_the_config_has_fewer_gpus_than_the_preset(ada_client: Client, address: str) -> None:
    make_cluster("large", "slurm", NodeShape(2, 64, 0, 8, "h200"))
    page = text_of(ada_client.post(f"{address}check/", form_for(GRPO, "large", **{"compute.gpus": "2"})))
    assert "the preset has 4 of 80 GB, and the config has 2 of 141 GB." in page and "Adapt to this cluster" in page


def test_check_states_that_only_cores_are_missing(ada_client: Client, address: str) -> None:
    make_cluster("narrow", "slurm", NodeShape(1, 8, 0, 4, "h100"))
    page = text_of(ada_client.post(f"{address}check/", form_for(GRPO, "narrow")))
    assert "Cluster narrow has the GPUs, but less of something else that the config requests." in page


def test_check_states_the_missing_nodes(ada_client: Client, address: str) -> None:
    make_cluster("single", "slurm", NodeShape(1, 16, 0, 4, "h100"))
    page = text_of(ada_client.post(f"{address}check/", form_for(GRPO, "single", **{"compute.nodes": "2"})))
    assert "Nodes: the config needs 2 with GPUs, and cluster single has 1." in page


def test_fitting_config_offers_no_adaptation(ada_client: Client, address: str) -> None:
    make_cluster("large", "slurm", NodeShape(2, 64, 0, 8, "h200"))
    assert "Adapt to this cluster" not in text_of(ada_client.post(f"{address}check/", form_for(GRPO, "large")))
