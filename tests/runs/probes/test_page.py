"""The page of results of probes: heat maps, one tensor in every series, charts, tables, files, and who sees what."""

from __future__ import annotations

import csv
import io
import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from runs.models import Experiment, Run
from tests.cases import each_case
from tests.runs.evaluation_runs import make_training
from tests.runs.full_runs import record
from tests.runs.probe_runs import make_probe_run, record_norms, reward_line, shared_noise
from workers.records import Probe, ProbeValue

pytestmark = pytest.mark.django_db
MAX_QUERIES = 22
Q_PROJ = "model.layers.1.self_attn.q_proj.weight"


@pytest.fixture
def trainings(experiment: Experiment, runs_dir: object) -> tuple[Run, Run]:
    return make_training(experiment, "es"), make_training(experiment, "grpo", seed=1)


@pytest.fixture
def probe_run(experiment: Experiment, trainings: tuple[Run, Run]) -> Run:
    """Return a probe run: norms of an ES training inside of the band, of a GRPO training above it."""
    run = make_probe_run(experiment, trainings)
    record_norms(run, trainings[0])
    return record_norms(run, trainings[1], step=20, value=4.0)


def get(client: Client, experiment: Experiment, **query: object) -> str:
    reply = client.get(reverse("probes", args=[experiment.pk]), query)
    assert reply.status_code == 200, reply.content.decode()[:500]
    return " ".join(reply.content.decode().split())


def rows(client: Client, experiment: Experiment, route: str = "probes-table", **query: object) -> list[dict[str, str]]:
    reply = client.get(reverse(route, args=[experiment.pk]), {"as": "csv", **query})
    assert reply.status_code == 200, reply.content.decode()[:500]
    return list(csv.DictReader(io.StringIO(reply.content.decode())))


def test_page_of_an_experiment_without_probes_says_how_to_get_one(ada_client: Client, experiment: Experiment) -> None:
    text = get(ada_client, experiment)
    assert "No probes yet" in text and "press Probe" in text and "heat-map" not in text


def test_page_of_a_probe_run_without_results_lists_the_run(
    ada_client: Client, experiment: Experiment, trainings: tuple[Run, Run]
) -> None:
    run = make_probe_run(experiment, trainings)
    text = get(ada_client, experiment)
    assert "No results yet" in text and run.get_absolute_url() in text


def test_heat_maps_colour_tensors_by_their_distance_from_chance(
    ada_client: Client, experiment: Experiment, trainings: tuple[Run, Run], probe_run: Run
) -> None:
    text = get(ada_client, experiment)
    assert text.count("<heat-map>") == 2
    # 4 is (4 − 1) / (1.1 − 1) = 30 half-widths above the band's middle.
    assert text.count('<a class="shade chance"') == 6 and text.count('<a class="shade above-4"') == 6
    assert "as by chance" in text and "no band</li>" not in text
    for training in trainings:
        assert training.get_absolute_url() in text
    assert f"{Q_PROJ}: 4, by chance 1, band by chance 0.900 to 1.10, n = 64 elements" in text
    assert "Whole model: <b>8</b>" in text and "by chance 0.900 to 1.10" in text and "n = 4" in text


def test_colour_by_value_needs_no_band(
    ada_client: Client, experiment: Experiment, trainings: tuple[Run, Run], probe_run: Run
) -> None:
    text = get(ada_client, experiment, colour="value")
    assert text.count('<a class="shade value-1"') == 6 and text.count('<a class="shade value-5"') == 6
    bare = make_probe_run(experiment, trainings, "without bands")
    record_norms(bare, trainings[1], value=2.0, has_band=False)
    text = get(ada_client, experiment, run=bare.uid)
    assert text.count('<a class="shade value-1"') == 6 and "no band by chance" in text


def test_a_tensor_is_listed_in_every_series(ada_client: Client, experiment: Experiment, probe_run: Run) -> None:
    text = get(ada_client, experiment, tensor=Q_PROJ)
    panel = text.partition('id="tensor"')[2]
    assert (
        "layer 1, self_attn.q_proj" in panel
        and panel.count('class="probe-strip tone-') == 2
        and panel.count("◆ </span>") == 1
    )
    assert [r["value"] for r in rows(ada_client, experiment, tensor=Q_PROJ)] == ["1.0", "4.0"]
    addresses = re.findall(r'<a class="shade [^"]*" href="([^"]*)"', text)
    assert len(addresses) == 12 and all(address.count("tensor=") == 1 for address in addresses)
    reply = ada_client.get(reverse("probes", args=[experiment.pk]), {"tensor": "model.nothing"})
    assert reply.status_code == 404


def test_file_states_the_run_and_step_of_each_number(
    ada_client: Client, experiment: Experiment, trainings: tuple[Run, Run], probe_run: Run
) -> None:
    table = rows(ada_client, experiment)
    assert len(table) == 14 and {row["probe run"] for row in table} == {probe_run.uid}
    whole = [row for row in table if row["tensor"] == ""]
    expected = [
        (trainings[0].uid, "10", "es", "0", "2.0", "0.9", "1.1", "4096"),
        (trainings[1].uid, "20", "grpo", "1", "8.0", "0.9", "1.1", "4096"),
    ]
    names = ("subject", "subject step", "method", "seed", "value", "null low", "null high", "n")
    assert [tuple(row[name] for name in names) for row in whole] == expected


def test_newest_record_of_a_repeated_result_counts(
    ada_client: Client, experiment: Experiment, trainings: tuple[Run, Run], probe_run: Run
) -> None:
    record_norms(probe_run, trainings[0], value=5.0)
    table = rows(ada_client, experiment, tensor=Q_PROJ)
    assert [(row["subject"], row["value"]) for row in table] == [(trainings[1].uid, "4.0"), (trainings[0].uid, "5.0")]


def test_line_chart_has_its_band_and_its_numbers(
    ada_client: Client, experiment: Experiment, trainings: tuple[Run, Run], probe_run: Run
) -> None:
    record(probe_run, [reward_line(*trainings)])
    query = {"measure": "interpolation/reward"}
    text = get(ada_client, experiment, **query)
    assert 'id="chart-reward"' in text and "Shaded: band by chance" in text and '"fill":"toself"' in text
    assert text.count("◆ </span>") == 1
    by_hand = [("0.0", "0.5"), ("0.5", "0.125"), ("1.0", "0.5")]
    for route, more in (("probes-table", {}), ("probes-chart", {"name": "reward"})):
        table = rows(ada_client, experiment, route, **query, **more)
        assert [(row["x"], row["value"]) for row in table] == by_hand
        assert {row["other"] for row in table} == {trainings[1].uid}


def test_groups_of_tensors_have_a_chart_each(
    ada_client: Client, experiment: Experiment, trainings: tuple[Run, Run]
) -> None:
    values = tuple(
        ProbeValue(-sigma, 8, group, x=sigma, null=0.0, null_low=-0.01, null_high=0.01)
        for group in ("all", "head")
        for sigma in (0.02, 0.01)
    )
    record(
        make_probe_run(experiment, trainings), [Probe(10, "perturbation", "change", f"{trainings[0].uid}@10", values)]
    )
    text = get(ada_client, experiment)
    assert text.count('class="chart"') == 2 and 'data-chart="change:all"' in text and "A fell from −0.0100" in text
    table = rows(ada_client, experiment, "probes-chart", name="change:head", measure="perturbation/change")
    assert [(row["tensor"], row["x"], row["value"]) for row in table] == [
        ("head", "0.02", "-0.02"),
        ("head", "0.01", "-0.01"),
    ]


def test_sources_of_responses_share_the_chart_of_their_series(
    ada_client: Client, experiment: Experiment, trainings: tuple[Run, Run]
) -> None:
    values = tuple(ProbeValue(k / 8, 8, source, x=float(k)) for source in ("σ=0.01", "T=1") for k in (1, 4))
    results = [Probe(10, "perturbation", "pass_at_k", f"{training.uid}@10", values) for training in trainings]
    record(make_probe_run(experiment, trainings), list(results))
    text = get(ada_client, experiment)
    assert text.count('class="chart"') == 2 and 'data-chart="pass_at_k:B"' in text
    assert text.count('"legendgroup":"A"') == 2 and "σ=0.01 rose from 12" in text and "Shaded" not in text


def test_at_most_28_results_are_drawn_and_files_have_all(
    ada_client: Client, experiment: Experiment, trainings: tuple[Run, Run]
) -> None:
    run = make_probe_run(experiment, trainings)
    for step in range(29):
        record_norms(run, trainings[0], step=step)
    text = get(ada_client, experiment)
    assert text.count("<heat-map>") == 28 and "1 more series is not drawn" in text
    table = rows(ada_client, experiment, tensor=Q_PROJ)
    assert [row["subject step"] for row in table] == [str(step) for step in range(29)]


def test_audit_lists_the_strongest_pairs_and_the_verdict(
    ada_client: Client, experiment: Experiment, trainings: tuple[Run, Run]
) -> None:
    record(make_probe_run(experiment, trainings), [shared_noise(trainings[0])])
    text = get(ada_client, experiment)
    assert "were changed by the same random numbers" in text
    pairs = text.partition('class="probe-rows"')[2].partition("<tbody>")[2]
    assert pairs.index("0.990") < pairs.index("−0.500") < pairs.index("0.0100")


def test_a_pair_of_many_elements_is_stronger_than_a_larger_cosine_of_few(
    ada_client: Client, experiment: Experiment, trainings: tuple[Run, Run]
) -> None:
    pairs = (ProbeValue(0.3, 64, "few", "elements"), ProbeValue(0.1, 6400, "many", "elements"))
    record(make_probe_run(experiment, trainings), [Probe(10, "audit", "shared_noise", "a@1", pairs)])
    text = get(ada_client, experiment)
    assert text.index("<code>many</code>") < text.index("<code>few</code>")


def test_subject_selects_the_series_that_compare_it(
    ada_client: Client, experiment: Experiment, trainings: tuple[Run, Run], probe_run: Run
) -> None:
    table = rows(ada_client, experiment, subject=f"{trainings[1].uid}@20")
    assert {row["subject"] for row in table} == {trainings[1].uid} and {row["letter"] for row in table} == {"B"}


@each_case(
    ("route", "query"),
    [
        ("probes", {"measure": "magnitude/nosuch"}),
        ("probes", {"run": "nosuch"}),
        ("probes", {"colour": "pink"}),
        ("probes", {"subject": "nosuch@1"}),
        ("probes-chart", {"name": "norm"}),
        ("probes-table", {"as": "pdf"}),
    ],
)
def test_unknown_choices_are_refused(
    ada_client: Client, experiment: Experiment, probe_run: Run, route: str, query: dict[str, str]
) -> None:
    assert ada_client.get(reverse(route, args=[experiment.pk]), query).status_code == 404


def test_examined_runs_of_others_private_experiments_are_not_named(
    ada_client: Client, bo: User, experiment: Experiment, trainings: tuple[Run, Run]
) -> None:
    secret = make_training(Experiment.objects.create(name="Secret", owner=bo, is_private=True), "es")
    Run.objects.filter(pk=secret.pk).update(name="hidden recipe")
    run = record_norms(make_probe_run(experiment), secret)
    text = get(ada_client, experiment)
    assert secret.uid in text and "hidden recipe" not in text and secret.get_absolute_url() not in text
    Run.objects.filter(pk=run.pk).update(experiment=secret.experiment)
    assert ada_client.get(reverse("probes", args=[secret.experiment_id])).status_code == 404
    assert ada_client.get(reverse("probes", args=[experiment.pk]), {"run": run.uid}).status_code == 404


def test_probe_runs_in_the_trash_are_left_out(ada_client: Client, experiment: Experiment, probe_run: Run) -> None:
    Run.objects.filter(pk=probe_run.pk).update(deleted_at=timezone.now())
    assert "No probes yet" in get(ada_client, experiment)


def test_names_of_tensors_are_escaped(ada_client: Client, experiment: Experiment, trainings: tuple[Run, Run]) -> None:
    hostile = "model.layers.0.<script>alert(1)</script>"
    values = (ProbeValue(1.0, 4, hostile), ProbeValue(1.0, 4, "<b>bold</b>"))
    record(make_probe_run(experiment), [Probe(1, "magnitude", "norm", "folder@1", values)])
    text = get(ada_client, experiment, tensor=hostile)
    assert "<script>alert(1)" not in text and "<b>bold" not in text and "&lt;b&gt;bold" in text


def test_number_of_queries_does_not_grow_with_series(
    ada_client: Client, experiment: Experiment, trainings: tuple[Run, Run], probe_run: Run
) -> None:
    with CaptureQueriesContext(connection) as few:
        get(ada_client, experiment)
    for n in range(4):
        record_norms(make_probe_run(experiment, trainings, f"probe {n}"), trainings[n % 2], value=n + 1)
    with CaptureQueriesContext(connection) as many:
        get(ada_client, experiment)
    assert len(many) == len(few) <= MAX_QUERIES


def test_base_model_and_source_of_responses_are_no_pair(
    ada_client: Client, experiment: Experiment, trainings: tuple[Run, Run]
) -> None:
    subject = f"{trainings[0].uid}@10"
    curvature = Probe(10, "curvature", "curvature", subject, (ProbeValue(0.5, 90),), f"{trainings[0].uid}@8")
    line = Probe(10, "interpolation", "barrier", subject, (ProbeValue(0.5, 8, x=0.5),), "base")
    record(make_probe_run(experiment, trainings), [curvature, line])
    text = get(ada_client, experiment, measure="curvature/curvature")
    assert "at step 10, responses of" in text and "at step 8" in text and "×" not in text
    assert 'class="line tone-es"' in text and "No values of single tensors" in text
    assert "× base model" in get(ada_client, experiment, measure="interpolation/barrier")


def test_lines_between_models_have_a_chart_for_each_pair_of_methods(
    ada_client: Client, experiment: Experiment, trainings: tuple[Run, Run]
) -> None:
    es, grpo = (f"{training.uid}@10" for training in trainings)
    points = tuple(ProbeValue(t, 8, null=t, null_low=t - 1, null_high=t + 1, x=t) for t in (0.0, 0.5, 1.0))
    ends = (("base", es), ("base", grpo), (es, grpo))
    lines = [Probe(10, "interpolation", "reward", first, points, second) for first, second in ends]
    record(make_probe_run(experiment, trainings), lines)
    text = get(ada_client, experiment, measure="interpolation/reward")
    assert text.count('class="chart"') == 3
    for kind in ("base model × ES", "base model × GRPO", "ES × GRPO"):
        assert f"{kind}</h3>" in text or f"{kind}</h2>" in text, kind


def test_number_of_tensors_outside_stands_next_to_that_by_chance(
    ada_client: Client, experiment: Experiment, trainings: tuple[Run, Run]
) -> None:
    names = [f"model.layers.{layer}.mlp.up_proj.weight" for layer in range(20)]
    values = tuple(
        ProbeValue(0.5 if i < 3 else 0.0, 9, name, null_low=-0.1, null_high=0.1) for i, name in enumerate(names)
    )
    record(make_probe_run(experiment, trainings), [Probe(10, "cosine", "cosine", "a@1", values, "b@1")])
    assert "3 of 20 tensors outside of their bands; chance gives 1" in get(ada_client, experiment)
