"""A launch that no nodes of its cluster can run is refused with the valid choices, alike in form, API and sweep."""

from __future__ import annotations

import html
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runs import launching
from runs.clusters import check_capacity, check_fits, divides_gpus
from runs.launching.gpu_memory.shares import JobGpu, plan_job_gpu
from runs.launching.submit import spec_of
from runs.models import Cluster, Experiment, Run
from tests.cases import each_case
from tests.runs.api_client import calls, paths
from tests.runs.clusters.stored_inventories import FAR, RAYS, make_cluster, make_clusters
from tests.runs.launching.impossible_launches import IMPOSSIBLE, Impossible
from tests.runs.launching.test_config_form import sent
from tests.runs.local_cluster import attempt_of, run_of
from workers.config import ConfigError, RunConfig, preset
from workers.config.run import ComputeConfig
from workers.executors.base import NodeShape
from workers.executors.slurm import Site
from workers.executors.slurm.inventory import parse_nodes
from workers.executors.slurm.job import sbatch_argv

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")


def config_with(**compute: Any) -> dict[str, Any]:
    """Return the config of a run that requests these resources."""
    return {**preset("es-micro").config, "compute": compute}


def refusals(cluster: Cluster, **compute: Any) -> dict[str, str]:
    """Return setting -> sentence of what the cluster's nodes cannot give; empty if they can."""
    try:
        check_capacity(RunConfig.from_json(config_with(cluster=cluster.name, **compute)), cluster)
    except ConfigError as error:
        return {problem.path: problem.message for problem in error.problems}
    return {}


@each_case("impossible", IMPOSSIBLE, ids=lambda case: str(case.compute))
def test_impossible_launch_is_refused_in_a_sentence(impossible: Impossible, experiment: Experiment, ada: User) -> None:
    make_clusters()
    compute, path, sentence = impossible
    new = {"experiment": experiment.pk, "preset": "es-micro", "config": {"compute": compute}}
    refused = calls(ada).post("/api/v1/runs", new, content_type="application/json")
    assert refused.status_code == 422 and sentence in paths(refused)[path]
    assert not Run.objects.exists()


@pytest.mark.parametrize("launches", [IMPOSSIBLE[::7], pytest.param(IMPOSSIBLE, marks=pytest.mark.soak)], ids=len)
def test_impossible_launch_is_refused_in_the_same_sentence_everywhere(
    launches: list[Impossible], experiment: Experiment, ada_client: Client, ada: User
) -> None:
    """The form, its check, a sweep and the plan of a sweep; the test above covers a launch by the API."""
    make_clusters()
    script = calls(ada)
    for compute, path, sentence in launches:
        typed = {f"compute.{name}": str(value) for name, value in compute.items()}
        page = ada_client.post(reverse("launch", args=[experiment.pk]), sent("es-micro", **typed))
        assert page.status_code == 400 and f'<a href="#id_{path}">{path}</a> {sentence}' in text_of(page)
        checked = ada_client.post(reverse("launch-check", args=[experiment.pk]), sent("es-micro", **typed))
        assert sentence in text_of(checked)
        swept = {"grid": {f"compute.{name}": [value] for name, value in compute.items()}, "seeds": [0, 1]}
        for address in ("sweeps", "sweeps/plan"):
            new = {"experiment": experiment.pk, "preset": "es-micro", **swept}
            refused = script.post(f"/api/v1/{address}", new, content_type="application/json")
            assert refused.status_code == 422 and sentence in paths(refused)[path]
    assert not Run.objects.exists()


def text_of(answer: Any) -> str:
    """Return a page with single spaces, and without HTML entities."""
    return html.unescape(" ".join(answer.content.decode().split()))


@each_case(
    "compute",
    [
        {"cluster": "far", "nodes": 6},
        {"cluster": "far", "nodes": 2, "gpus": 4, "gpu_type": "A100", "cores": 16, "memory_mb": 64_000},
        {"cluster": "far", "nodes": 2, "gpus": 8, "gpu_type": "h100", "partition": "gpu"},
        {"cluster": "rays", "nodes": 3},
        {"cluster": "shared", "nodes": 2, "gpus": 4, "memory_mb": 1_000_000},
        {"cluster": "local", "gpus": 2, "cores": 4},
    ],
    ids=str,
)
def test_possible_launch_is_created(experiment: Experiment, compute: dict[str, Any]) -> None:
    make_clusters()
    assert run_of(experiment, **compute).config["compute"].items() >= compute.items()


def test_every_impossible_amount_is_reported_together() -> None:
    far = make_cluster("far", "slurm", *FAR, config={"partition": "main"})
    assert refusals(far, nodes=9, gpus=8, cores=64, memory_mb=65_000).keys() == {
        "compute.nodes", "compute.gpus", "compute.cores", "compute.memory_mb",
    }  # fmt: skip


def test_nodes_of_several_partitions_are_not_added_up() -> None:
    halves = make_cluster("far", "slurm", NodeShape(2, 8, partition="a"), NodeShape(3, 8, partition="b"))
    assert refusals(halves, nodes=3) == {}
    assert refusals(halves, nodes=4) == {"compute.nodes": "must be at most 3, not 4: cluster far has no more nodes"}


def test_partition_in_the_config_of_a_cluster_that_lacks_it_is_refused() -> None:
    far = make_cluster("far", "slurm", *FAR, config={"partition": "old"})
    assert refusals(far) == {
        "compute.partition": "must be a partition that cluster far has and its config names, not the default 'old'; it "
        "has gpu, main, and an admin can add them to the config"
    }


def test_type_of_gpu_in_the_clusters_config_applies_to_runs_without_one() -> None:
    shapes = (NodeShape(3, 8, 0, 4, "t4"), NodeShape(1, 8, 0, 2, "a100"))
    far = make_cluster("far", "slurm", *shapes, config={"gpu_type": "a100"})
    assert refusals(far, gpus=4) == {
        "compute.gpus": "must be at most 2, not 4: no node of cluster far has more of type a100"
    }
    assert refusals(far, gpus=4, gpu_type="t4", nodes=3) == {}
    far.config = {"gpu_type": "b200"}
    message = refusals(far, gpus=1)["compute.gpu_type"]
    assert message == "must be one of a100, t4 on cluster far, not empty: its config sets 'b200' then"


def test_fraction_of_a_gpu_needs_shards_on_slurm() -> None:
    shapes = (NodeShape(3, 8, 0, 4, "t4", "main"), NodeShape(1, 8, 0, 2, "a100", "main", 8))
    far = make_cluster("far", "slurm", *shapes)
    assert refusals(far, gpus=0.25) == refusals(far, gpus="auto") == refusals(far, gpus=0.25, gpu_type="a100") == {}
    assert refusals(far, gpus=0.25, gpu_type="t4") == {
        "compute.gpus": "must be a whole number, not 0.25: no node of cluster far divides its GPUs of type t4 into "
        "shards (gres/shard in slurm.conf), by which runs share a GPU; those of type a100 are divided"
    }
    # auto takes a whole GPU there.
    typed = ComputeConfig(cluster="far", gpus="auto", gpu_type="t4")
    assert refusals(far, gpus="auto", gpu_type="t4") == {} and not divides_gpus(far, typed)
    assert divides_gpus(far, replace(typed, gpu_type="")) and divides_gpus(make_cluster("rays", "ray"), typed)
    assert not divides_gpus(make_cluster("unread", "slurm"), typed)
    none = make_cluster("cpus", "slurm", NodeShape(2, 4))
    assert refusals(none, gpus=0.25).keys() == refusals(none, gpus="auto").keys() == {"compute.gpus"}


def test_auto_takes_a_whole_gpu_where_slurm_divides_none(ada: User) -> None:
    far = make_cluster("far", "slurm", NodeShape(1, 8, 0, 4, "h100", "main"))
    planned = plan_job_gpu(RunConfig.from_json(config_with(cluster="far", gpus="auto")), ada, far)
    assert planned == JobGpu(1, reason="Slurm does not divide the GPUs of far into shards")


def test_fraction_of_a_gpu_counts_against_limits() -> None:
    far = make_cluster("far", "ray", NodeShape(2, 8, 0, 4), config={"limits": {"gpus": 0, "total_gpus": 0}})
    for gpus in (0.25, "auto"):
        config = RunConfig.from_json(config_with(cluster="far", gpus=gpus))
        with pytest.raises(ConfigError, match=rf"must be at most 0 on cluster far, not {gpus}") as error:
            check_fits(config, far)
        assert [problem.path for problem in error.value.problems] == ["compute.gpus"] * 2
    one = make_cluster("one", "ray", config={"limits": {"gpus": 1, "total_gpus": 1}})
    check_fits(RunConfig.from_json(config_with(cluster="one", gpus="auto")), one)


def test_old_inventory_is_named_with_its_time() -> None:
    far = make_cluster("far", "slurm", *FAR, age=timedelta(minutes=59), config={"partition": "main"})
    assert "last read" not in refusals(far, nodes=9)["compute.nodes"]
    old = make_cluster("old", "slurm", *FAR, age=timedelta(hours=2), config={"partition": "main"})
    at = f"{old.inventory_at:%Y-%m-%d %H:%M} UTC"
    assert refusals(old, nodes=9)["compute.nodes"].endswith(f"(the nodes of old were last read at {at})")


def test_unknown_nodes_and_nodes_on_demand_refuse_nothing() -> None:
    assert refusals(Cluster.objects.create(name="new", kind="slurm"), nodes=99, gpus=99) == {}
    growing = make_cluster("rays", "ray", *RAYS, config={"autoscales": True})
    assert refusals(growing, nodes=99, gpus=99, gpu_type="b200") == {}
    fixed = make_cluster("fixed", "ray", *RAYS, config={"autoscales": False})
    assert refusals(fixed, nodes=99).keys() == {"compute.nodes"}


def test_job_names_the_type_of_gpu_as_its_cluster_does(experiment: Experiment) -> None:
    make_clusters()
    spec = spec_of(attempt_of(run_of(experiment, cluster="rays", nodes=2, gpus=4, gpu_type="t4")))
    assert (spec.nodes, spec.gpus, spec.gpu_type) == (2, 4, "T4")
    assert spec_of(attempt_of(run_of(experiment, cluster="rays", gpus=4))).gpu_type == ""


def test_run_moves_only_to_a_cluster_with_its_nodes(experiment: Experiment, ada: User) -> None:
    make_clusters()
    run = run_of(experiment, cluster="far", nodes=2, gpus=4)
    with pytest.raises(ConfigError, match="must be 1, not 2: cluster local is one machine"):
        launching.move_run(run, "local", ada)
    launching.move_run(run, "rays", ada)
    assert attempt_of(run).moves_to == Cluster.objects.get(name="rays")


def test_form_suggests_the_types_of_gpu(experiment: Experiment, ada_client: Client) -> None:
    make_cluster("far", "slurm", *FAR, config={"partition": "main"})
    make_cluster("rays", "ray", *RAYS)
    page = text_of(ada_client.get(reverse("launch", args=[experiment.pk])))
    # Runs may not use partition gpu, which the cluster's config does not name.
    options = '<datalist id="compute.gpu_type"><option value="a100"></option><option value="T4"></option></datalist>'
    assert options in page and 'list="compute.gpu_type"' in page


def test_check_of_the_form_states_the_nodes(experiment: Experiment, ada_client: Client) -> None:
    make_clusters()
    typed = {"compute.cluster": "far", "compute.nodes": "2", "compute.gpus": "4", "compute.gpu_type": "a100"}
    checked = ada_client.post(reverse("launch-check", args=[experiment.pk]), sent("es-micro", **typed))
    assert "Ready: 1 run. It uses 2 nodes × 4 GPUs (a100)." in text_of(checked)


def test_sweep_varies_the_number_of_nodes(experiment: Experiment, ada: User) -> None:
    make_clusters()
    base = config_with(cluster="far", gpus=1)
    sweep = launching.launch_sweep(launching.NewSweep(base, [0], grid={"compute.nodes": [1, 2]}), experiment, ada)
    assert [run.config["compute"]["nodes"] for run in sweep.runs.order_by("pk")] == [1, 2]
    more = launching.NewSweep(base, [0], grid={"compute.nodes": [2, 3]})
    with pytest.raises(ConfigError, match="must be at most 2, not 3"):
        launching.launch_sweep(more, experiment, ada)


@pytest.fixture
def digits() -> Cluster:
    """Return a Slurm cluster whose cards have names that begin with a digit."""
    nodes = "lab|64|256000|gpu:2080ti:4(S:0-1)\n" * 2 + "lab|64|256000|gpu:3090:8\nlab|64|256000|gpu:1g.10gb:7\n"
    return make_cluster("lab", "slurm", *parse_nodes(nodes))


def test_type_of_gpu_may_begin_with_a_digit(digits: Cluster, experiment: Experiment, ada: User) -> None:
    for typed, gpus in (("2080ti", 4), ("3090", 8), (3090, 8), ("1g.10gb", 7), ("1G.10GB", 7)):
        config = config_with(cluster="lab", gpus=gpus, gpu_type=typed)
        new = {"experiment": experiment.pk, "config": config}
        created = calls(ada).post("/api/v1/runs", new, content_type="application/json")
        assert created.status_code == 201, created.content
        spec = spec_of(attempt_of(Run.objects.get(uid=created.json()["uid"])))
        assert f"--gres=gpu:{str(typed).lower()}:{gpus}" in sbatch_argv(Site(), spec)
    assert refusals(digits, gpus=5, gpu_type="2080ti") == {
        "compute.gpus": "must be at most 4, not 5: no node of cluster lab has more of type 2080ti"
    }
    assert refusals(digits, gpus=64) == {"compute.gpus": "must be at most 8, not 64: no node of cluster lab has more"}
    assert refusals(digits, gpus=1, gpu_type="2080") == {
        "compute.gpu_type": "must be one of 1g.10gb, 2080ti, 3090 on cluster lab, or empty, not '2080'"
    }


def test_types_with_a_digit_first_are_on_the_page_and_in_the_form(
    digits: Cluster, experiment: Experiment, ada_client: Client, admin_client: Client
) -> None:
    page = text_of(admin_client.get(reverse("settings-cluster", args=[digits.name])))
    assert all(f"<code>{gpu_type}</code>" in page for gpu_type in ("2080ti", "3090", "1g.10gb"))
    assert all(f"<td>{number}</td>" in page.replace('<td class="number">', "<td>") for number in (4, 8, 7))
    form = text_of(ada_client.get(reverse("launch", args=[experiment.pk])))
    assert '<option value="1g.10gb"></option><option value="2080ti"></option><option value="3090"></option>' in form
