"""Charts that group runs as tables do, with looks that stay the same on every page."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from runs.charts import styled_groups
from runs.charts.groups import IGNORED_KEYS
from runs.compare.chart_groups import MAX_RUNS_A_GROUP, groups_of_values, seed_groups
from runs.compare.run_table import vocabulary
from runs.models import Experiment, LineStyle, Run
from tests.cases import each_case
from tests.runs.full_runs import evaluation, make_run, record

pytestmark = pytest.mark.django_db


def measured(experiment: Experiment, name: str, seed: int, last: float, **es: Any) -> Run:
    """Return a run with two evaluations; `es` changes settings of its method."""
    run = make_run(experiment, name, seed)
    if es:
        run.config["es"] |= es
        run.save()
    record(run, [evaluation(0, -40.0), evaluation(5, last)])
    return run


@dataclass(frozen=True)
class Drawn:
    """A chart as a page gets it: its figure, its summary, and the rows of its CSV."""

    figure: dict[str, Any]
    summary: str
    rows: list[dict[str, str]]


def chart(client: Client, experiment: Experiment, query: str, name: str = "reward") -> Drawn:
    address = f"{reverse('experiment-chart', args=[experiment.pk])}?{query}&name={name}"
    page = client.get(address)
    assert page.status_code == 200, page.content.decode()
    (figure,) = _figures(page.content.decode())
    summary = re.search(r'class="summary[^"]*">(.*?)</p>', page.content.decode(), re.DOTALL)
    assert summary is not None
    rows = list(csv.DictReader(io.StringIO(client.get(f"{address}&as=csv").content.decode())))
    return Drawn(figure, summary[1].strip(), rows)


def middles(drawn: Drawn) -> dict[str, list[float]]:
    """Return the values of each group's mean, by the group's name."""
    return {trace["meta"]["label"]: trace["y"] for trace in drawn.figure["data"] if "label" in trace.get("meta", {})}


@pytest.fixture
def runs(experiment: Experiment) -> list[Run]:
    """Return two ES settings with two seeds each, and two seeds of GRPO."""
    return [
        measured(experiment, "es-tiny", 0, -10.0),
        measured(experiment, "es-tiny", 1, -20.0),
        measured(experiment, "es-tiny", 2, -30.0, sigma=0.5),
        measured(experiment, "es-tiny", 3, -40.0, sigma=0.5),
        measured(experiment, "grpo-tiny", 0, -2.0),
        measured(experiment, "grpo-tiny", 1, -4.0),
    ]


def test_charts_group_by_method_with_bands_and_n(ada_client: Client, experiment: Experiment, runs: list[Run]) -> None:
    drawn = chart(ada_client, experiment, "group=method")
    assert middles(drawn) == {"ES": [-40.0, -25.0], "GRPO": [-40.0, -3.0]}
    assert [t["name"] for t in drawn.figure["data"] if t.get("fill")] == ["ES, ±1 std", "GRPO, min–max"]
    assert [row["n"] for row in drawn.rows] == ["4", "4", "2", "2"]
    page = ada_client.get(f"{experiment.get_absolute_url()}?group=method").content.decode()
    assert 'data-line="es-0"' in page and "n&nbsp;=&nbsp;4" in page


def test_every_group_has_a_path_of_reward_against_kl(
    ada_client: Client, experiment: Experiment, runs: list[Run]
) -> None:
    for seed in range(10, 22):
        measured(experiment, "es-tiny", seed, -1.0)
    drawn = chart(ada_client, experiment, "group=method", "tradeoff")
    assert {trace["meta"]["colour"] for trace in drawn.figure["data"]} == {"es", "grpo"}
    assert len(drawn.figure["data"]) == 5 + 2


def test_charts_group_by_any_key_of_the_config(ada_client: Client, experiment: Experiment, runs: list[Run]) -> None:
    groups = middles(chart(ada_client, experiment, "group=es.sigma&q=method:es"))
    assert groups == {"ES · sigma 0.01": [-40.0, -15.0], "ES · sigma 0.5": [-40.0, -35.0]}


def test_charts_group_by_two_keys(ada_client: Client, experiment: Experiment, runs: list[Run]) -> None:
    assert set(middles(chart(ada_client, experiment, "group=method&group=seed"))) == {
        "ES, seed 0", "ES, seed 1", "ES, seed 2", "ES, seed 3", "GRPO, seed 0", "GRPO, seed 1",
    }  # fmt: skip


def test_groups_of_charts_have_the_means_of_the_table(
    ada_client: Client, experiment: Experiment, runs: list[Run]
) -> None:
    page = ada_client.get(f"{experiment.get_absolute_url()}?group=method&q=seed:0..1")
    means = {group.names[0]: group.row.numbers["reward/mean"].mean for group in page.context["table"].groups}
    assert means == {"es": -15.0, "grpo": -3.0}
    drawn = middles(chart(ada_client, experiment, "group=method&q=seed:0..1"))
    assert {name: values[-1] for name, values in drawn.items()} == {"ES": -15.0, "GRPO": -3.0}


@each_case("query", ["group=method&sort=kl", "group=method&sort=-reward", "group=method&hide=grpo-0"])
def test_a_mean_does_not_depend_on_what_is_shown(
    ada_client: Client, experiment: Experiment, runs: list[Run], query: str
) -> None:
    assert middles(chart(ada_client, experiment, query)) == middles(chart(ada_client, experiment, "group=method"))


def test_a_group_of_many_runs_states_how_many_its_mean_has(ada_client: Client, experiment: Experiment) -> None:
    for seed in range(MAX_RUNS_A_GROUP + 2):
        measured(experiment, "es-tiny", seed, -float(seed))
    newest = sum(range(2, MAX_RUNS_A_GROUP + 2)) / MAX_RUNS_A_GROUP
    assert middles(chart(ada_client, experiment, "group=method")) == {"ES": [-40.0, pytest.approx(-newest)]}
    oldest = middles(chart(ada_client, experiment, "q=seed:0..3"))
    assert oldest == middles(chart(ada_client, experiment, "")) == {"es-tiny": [-40.0, pytest.approx(-newest)]}
    page = " ".join(ada_client.get(f"{experiment.get_absolute_url()}?group=method").content.decode().split())
    assert f"more than {MAX_RUNS_A_GROUP} runs: the mean is that of their newest {MAX_RUNS_A_GROUP}." in page
    assert f"n&nbsp;=&nbsp; {MAX_RUNS_A_GROUP} of {MAX_RUNS_A_GROUP + 2}</span>" in page


def test_other_seeds_have_the_settings_of_the_charted_run(
    experiment: Experiment, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    other, charted = (measured(experiment, "es-tiny", seed, -3.0, sigma=0.02) for seed in (1, 2))
    charted.refresh_from_db()
    with django_assert_num_queries(2):
        (group,) = seed_groups(experiment.runs.current(), [charted])
        settings = {run.pk: run.config for run in group.runs}
    assert settings.keys() == {other.pk, charted.pk}
    for key in other.config.keys() - set(IGNORED_KEYS):
        assert settings[other.pk][key] == other.config[key], key


def test_an_unknown_key_names_the_valid_ones(ada_client: Client, experiment: Experiment, runs: list[Run]) -> None:
    for address in (experiment.get_absolute_url(), reverse("compare")):
        response = ada_client.get(f"{address}?group=foo&run={runs[0].uid}")
        assert response.status_code == 404
        assert "group must be one of" in response.content.decode()


def test_a_group_has_the_same_look_wherever_it_is_drawn(
    ada: User, ada_client: Client, experiment: Experiment, runs: list[Run]
) -> None:
    whole = {g.name: (g.variant, g.colour, g.dash, g.marker) for g in _styled(experiment, runs)}
    assert len(set(whole.values())) == 3
    for part in (runs[2:4], runs[:2], runs[4:]):
        ((only),) = _styled(experiment, part)
        looks = [look for name, look in whole.items() if only.name in (name, "es-tiny", "es-tiny, sigma 0.5")]
        assert (only.variant, only.colour, only.dash, only.marker) in looks
    assert LineStyle.objects.count() == 3


def _styled(experiment: Experiment, runs: list[Run]) -> list[Any]:
    column = vocabulary(experiment).column("recipe")
    assert column is not None
    return styled_groups(groups_of_values(list(Run.objects.filter(pk__in=[r.pk for r in runs])), [column]))


def test_readers_without_the_right_store_no_looks(experiment: Experiment, runs: list[Run]) -> None:
    column = vocabulary(experiment).column("recipe")
    assert column is not None
    groups = styled_groups(groups_of_values(list(Run.objects.all()), [column]), may_write=False)
    assert len({(group.method, group.variant) for group in groups}) == 3
    assert not LineStyle.objects.exists()


def test_a_colour_is_set_for_every_page_and_reset(
    ada_client: Client, bo_client: Client, experiment: Experiment, runs: list[Run]
) -> None:
    ada_client.get(f"{experiment.get_absolute_url()}?group=method")
    style = LineStyle.objects.get(identity="method=es")
    address = reverse("line-colour", args=[style.pk])
    assert bo_client.post(address, {"colour": "#112233"}).status_code == 403
    assert ada_client.post(address, {"colour": "red;}"}).status_code == 400
    ada_client.post(address, {"colour": "#112233"})
    colours = {t["meta"]["colour"] for t in chart(ada_client, experiment, "group=method").figure["data"]}
    assert colours == {"#112233", "grpo"}
    compared = "&".join(f"run={run.uid}" for run in runs)
    page = ada_client.get(f"{reverse('compare')}?{compared}&group=method").content.decode()
    assert {t["meta"]["colour"] for t in _figures(page)[0]["data"]} == {"#112233", "grpo"}
    ada_client.post(address, {"reset": "1"})
    assert "#112233" not in ada_client.get(f"{experiment.get_absolute_url()}?group=method").content.decode()


def _figures(page: str) -> list[Any]:
    return [json.loads(text) for text in re.findall(r'<script type="application/json">(.*?)</script>', page)]


def test_many_compared_runs_are_grouped_unless_single_runs_are_chosen(
    ada_client: Client, experiment: Experiment
) -> None:
    uids = [measured(experiment, "es-tiny", seed, -float(seed)).uid for seed in range(12)]
    address = f"{reverse('compare')}?show=all&{'&'.join(f'run={uid}' for uid in uids)}"
    page = ada_client.get(address)
    assert [(group.name, len(group.runs)) for group in page.context["grouping"]] == [("es-tiny", 12)]
    assert ada_client.get(f"{address}&group=none").context["grouping"] == []


def test_a_comparison_is_not_grouped_by_who_launched_runs(
    ada_client: Client, experiment: Experiment, runs: list[Run]
) -> None:
    response = ada_client.get(f"{reverse('compare')}?run={runs[0].uid}&group=by")
    assert response.status_code == 404


def test_a_chart_of_own_keys_draws_each_group_and_key(
    ada_client: Client, experiment: Experiment, runs: list[Run]
) -> None:
    drawn = chart(ada_client, experiment, "group=method", "own:reward/mean,kl")
    assert set(middles(drawn)) == {"ES · reward/mean", "GRPO · reward/mean", "ES · kl", "GRPO · kl"}
    against = chart(ada_client, experiment, "group=method", "own:reward/mean~kl")
    assert against.figure["data"][0]["x"] == [0.0, 0.05]
    missing = chart(ada_client, experiment, "group=method", "own:foo")
    assert missing.summary == "None of these runs has points of these keys."


@each_case("query", ["smooth=0.9", "x=wall", "xscale=log", "y=log", "x=relative&smooth=median-3"])
def test_every_control_draws_groups_and_runs(
    ada_client: Client, experiment: Experiment, runs: list[Run], query: str
) -> None:
    for name in ("reward", "kl", "tradeoff", "own:kl,reward/mean"):
        assert chart(ada_client, experiment, f"group=method&{query}", name).figure["data"]
    for address in (f"{reverse('run', args=[runs[0].uid])}?{query}", f"{reverse('compare')}?run={runs[0].uid}&{query}"):
        assert ada_client.get(address).status_code == 200


def test_smoothing_is_of_each_run_before_the_mean(ada_client: Client, experiment: Experiment) -> None:
    for seed, values in enumerate(([0.0, 0.0, 9.0], [0.0, 3.0, 0.0])):
        record(make_run(experiment, "es-tiny", seed), [evaluation(step, v) for step, v in enumerate(values)])
    drawn = chart(ada_client, experiment, "smooth=median-3")
    assert list(middles(drawn).values()) == [[0.75, 0.0, 3.0]]
    assert "mean smoothed median-3" in drawn.rows[0]


@each_case("query", ["", "sort=kl", "sort=-reward", "group=es.sigma&sort=-reward", "q=seed%3E1", "pin=first"])
def test_single_chart_equals_that_of_its_page(ada_client: Client, experiment: Experiment, query: str) -> None:
    runs = [measured(experiment, "es-tiny", seed, -float(seed), sigma=seed / 100) for seed in (1, 2, 3)]
    address = query.replace("first", runs[0].uid)
    page = ada_client.get(f"{experiment.get_absolute_url()}?{address}")
    drawn = chart(ada_client, experiment, address).figure
    assert drawn["data"] and drawn in _figures(page.content.decode())
