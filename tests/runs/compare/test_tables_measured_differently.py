"""Tables of runs that were measured differently: columns report it, and no mean is taken over such runs."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs import metrics
from runs.compare import Final, Setting, cautions, standings
from runs.metrics import Provenance
from runs.models import Experiment, Import, Run
from tests.cases import each_case
from tests.runs.full_runs import evaluation, make_run, record
from tests.runs.sample_curves import unsaved_run

pytestmark = pytest.mark.django_db
GREEDY = Provenance("evaluator", "mean", "greedy")
IMPORTED = Provenance("import", "mean")
SAMPLED = Provenance("import", "mean", "sampled", 0.7, 20)
MARK = '<span class="unlike" title="measured differently: '


def measured_run(experiment: Experiment, seed: int, reward: float) -> Run:
    run = make_run(experiment, seed=seed, state="succeeded")
    record(run, [evaluation(5, reward)])
    return run


def imported_run(experiment: Experiment, seed: int, reward: float, kind: str = "log", **config: Any) -> Run:
    run = measured_run(experiment, seed, reward)
    Import.objects.create(run=run, kind=kind, name=f"{seed}", sha256=f"{seed:064}", bytes=1, part=0)
    Run.objects.filter(pk=run.pk).update(config=run.config | config)
    return run


@pytest.fixture
def native(experiment: Experiment) -> list[Run]:
    return [measured_run(experiment, seed, -10.0 - seed) for seed in range(2)]


@pytest.fixture
def imported(native: list[Run]) -> Run:
    return imported_run(native[0].experiment, 2, -30.0)


def table_of(client: Client, experiment: Experiment, **query: Any) -> tuple[Any, str]:
    reply = client.get(reverse("experiment-runs", args=[experiment.pk]), query)
    return reply.context["table"], " ".join(reply.content.decode().split())


def test_column_of_runs_measured_differently_is_marked_in_words(
    ada_client: Client, native: list[Run], imported: Run
) -> None:
    table, page = table_of(ada_client, imported.experiment)
    assert {heading.column.key: set(heading.ways) for heading in table.differing} == {
        "reward/mean": {GREEDY, IMPORTED}, "accuracy/right": {GREEDY, IMPORTED},
        "kl": {Provenance("evaluator", "exact", "sampled", 1.0, 4), Provenance("import", "unknown")},
    }  # fmt: skip
    assert f'{MARK}greedy; decoding unknown, imported">≠<span class="only-read-aloud"> measured differently' in page
    assert "Reward: the values below were measured differently (greedy; decoding unknown, imported)" in page
    assert 'title="decoding unknown, imported">−30</a>' in page and 'title="greedy">−10</a>' in page


def test_column_of_runs_measured_alike_has_no_mark(ada_client: Client, native: list[Run]) -> None:
    table, page = table_of(ada_client, native[0].experiment)
    assert table.differing == [] and "unlike" not in page and "measured differently" not in page
    assert 'title="greedy"' not in page


def test_run_without_a_value_does_not_mark_the_column(ada_client: Client, native: list[Run]) -> None:
    waits = make_run(native[0].experiment, seed=3, state="created")
    Import.objects.create(run=waits, kind="log", name="3", sha256="3" * 64, bytes=1, part=0)
    assert table_of(ada_client, waits.experiment)[0].differing == []
    assert table_of(ada_client, waits.experiment, group="preset")[0].groups[0].row.numbers["reward/mean"].mean == -10.5


def test_marks_take_as_many_queries_for_sixty_runs(ada_client: Client, native: list[Run], imported: Run) -> None:
    def queries(**query: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert table_of(ada_client, imported.experiment, **query)[0].differing
        return len(captured)

    few = [queries(), queries(group="preset")]
    for seed in range(10, 67):
        measured_run(imported.experiment, seed, -20.0)
    assert [queries(), queries(group="preset")] == few


def test_group_of_runs_measured_differently_has_no_mean(ada_client: Client, native: list[Run], imported: Run) -> None:
    table, page = table_of(ada_client, imported.experiment, group="preset")
    ((spreads, n),) = [(group.row.numbers, group.row.n) for group in table.groups]
    rewards = spreads["reward/mean"]
    assert (n, rewards.n, rewards.mean, rewards.sd) == (3, 3, None, None)
    assert set(rewards.ways) == {GREEDY, IMPORTED}
    assert 'imported">measured differently (n = 3)</small>' in page and "−17.0" not in page
    assert "A group with several measurements has no mean." in page
    assert "?group=preset&amp;group=origin" in page
    assert spreads["step"].mean == 5


def test_groups_of_one_origin_lead_to_groups_by_samples(ada_client: Client, experiment: Experiment) -> None:
    for seed, samples in enumerate((20, 20, 4)):
        settings = {"temperature": 0.7, "samples": samples}
        imported_run(experiment, seed, -10.0 - seed, kind="evaluation", evaluation=settings)
    table, page = table_of(ada_client, experiment, group="preset")
    assert table.groups[0].row.numbers["reward/mean"].mean is None
    assert "?group=preset&amp;group=evaluation.samples" in page
    table, page = table_of(ada_client, experiment, group=["preset", "evaluation.samples"])
    assert sorted(group.row.numbers["reward/mean"].mean for group in table.groups) == [-12.0, -10.5]
    assert table.by_measurement == ""


def test_groups_by_origin_have_means(ada_client: Client, native: list[Run], imported: Run) -> None:
    table, page = table_of(ada_client, imported.experiment, group=["preset", "origin"])
    assert {tuple(group.names): group.row.numbers["reward/mean"].mean for group in table.groups} == {
        ("es-tiny", "evaluator"): -10.5, ("es-tiny", "import:log"): -30.0,
    }  # fmt: skip
    assert "measured differently" not in page
    inside, _ = table_of(ada_client, imported.experiment, q="preset:es-tiny origin:import:log")
    assert [row.run for row in inside.rows] == [imported]


@each_case(
    ("term", "origins"),
    [("origin:evaluator", ["evaluator"] * 2), ("origin~import", ["import:log"]), ("-origin:evaluator", ["import:log"])],
)
def test_runs_match_a_condition_on_their_origin(
    ada_client: Client, native: list[Run], imported: Run, term: str, origins: list[str]
) -> None:
    table, _ = table_of(ada_client, imported.experiment, q=term, col=["origin"])
    assert [row.cells[0].value for row in table.rows] == origins


def test_greedy_means_are_comparable_at_any_sample_temperature(ada_client: Client, native: list[Run]) -> None:
    other = measured_run(native[0].experiment, 2, -30.0)
    warmer = other.config | {"evaluation": other.config["evaluation"] | {"temperature": 0.5}}
    Run.objects.filter(pk=other.pk).update(config=warmer)
    numbers = table_of(ada_client, other.experiment, group="method")[0].groups[0].row.numbers
    assert (numbers["reward/mean"].n, numbers["reward/mean"].mean) == (3, pytest.approx(-17.0))
    assert numbers["kl"].mean is None and len(numbers["kl"].ways) == 2


def test_facts_of_the_database_give_the_provenance_of_the_config(native: list[Run], imported: Run) -> None:
    evaluations: list[dict[str, Any]] = [
        {"evaluation": {"temperature": 0.7, "samples": 20}}, {"evaluation": None}, {"evaluation": ["no"]},
        {"evaluation": {"temperature": 1, "samples": True}, "imported": {"evaluation_do_sample": False}},
        {"imported": "no"}, {"evaluation": {"temperature": "warm", "samples": 2.5}},
    ]  # fmt: skip
    for seed, config in enumerate(evaluations, 10):
        imported_run(imported.experiment, seed, -1.0, kind="evaluation", **config)
    runs = list(Run.objects.annotate(facts=metrics.facts_expression()))
    origins = metrics.origins_of(runs)
    assert set(origins.values()) == {"evaluator", "import:log", "import:evaluation"}
    for run in runs:
        for key in ("reward/mean", "kl", "kl/k3", "sample/reward/mean", "eval/x", "train/loss"):
            expected = metrics.provenance(run.config, key, origins[run.pk])
            assert metrics.provenance_of_facts(run.facts, key) == expected


def setting(name: str, rewards: list[float], ways: list[Provenance]) -> tuple[Setting, dict[int, Final], Any]:
    runs = tuple(unsaved_run(name, seed) for seed in range(len(rewards)))
    pairs = zip(runs, rewards, strict=True)
    numbers = {run.pk: Final({"reward/mean": reward}, {"reward/mean": 5}) for run, reward in pairs}
    measured = {(run.pk, "reward/mean"): way for run, way in zip(runs, ways, strict=True)}
    return Setting(name, name, runs), numbers, measured


def test_setting_measured_differently_has_no_mean_and_no_delta() -> None:
    base, numbers, measured = setting("grpo-tiny", [-1.0, -2.0], [GREEDY, GREEDY])
    other, more_numbers, more_measured = setting("es-tiny", [-3.0, -5.0], [GREEDY, SAMPLED])
    rows = standings([base, other], numbers | more_numbers, base, measured | more_measured)
    alike, mixed = (row.cells[0] for row in rows)
    assert (alike.mean, alike.is_mixed, alike.is_unlike_baseline) == (-1.5, False, False)
    assert (mixed.n, mixed.mean, mixed.std, mixed.delta) == (2, None, None, None)
    assert mixed.is_mixed and mixed.ways == (GREEDY, SAMPLED)
    rows = standings([base, other], numbers | more_numbers, other, measured | more_measured)
    assert (rows[0].cells[0].mean, rows[0].cells[0].delta) == (-1.5, None)


def test_setting_measured_differently_from_the_baseline_is_marked() -> None:
    base, numbers, measured = setting("grpo-tiny", [-1.0, -2.0], [GREEDY, GREEDY])
    other, more_numbers, more_measured = setting("es-tiny", [-3.0, -5.0], [SAMPLED, SAMPLED])
    both_numbers, both_measured = numbers | more_numbers, measured | more_measured
    _, row = standings([base, other], both_numbers, base, both_measured)
    assert (row.cells[0].mean, row.cells[0].is_mixed, row.cells[0].is_unlike_baseline) == (-4.0, False, True)
    assert row.cells[0].delta is not None
    assert cautions([base, other], both_numbers, both_measured)[0] == (
        "Measured differently, so they may differ for that reason alone: Held-out reward (greedy; 20 samples a "
        "prompt at T = 0.7, imported)."
    )


def test_compare_page_marks_runs_measured_differently(ada_client: Client, native: list[Run], imported: Run) -> None:
    reply = ada_client.get(reverse("compare"), {"run": [run.uid for run in (*native, imported)]})
    page = " ".join(reply.content.decode().split())
    heads = [(outcome.key, len(ways)) for outcome, ways in reply.context["standing_heads"]]
    assert heads == [("reward/mean", 2), ("accuracy/right", 2), ("kl", 2), ("seconds", 0)]
    assert page.count("≠ measured differently</small> </th>") + page.count("≠ measured differently</small></th>") == 3
    assert "no mean: measured differently" in page and "Measured differently, so they" in page
    page = ada_client.get(reverse("compare"), {"run": [run.uid for run in native]}).content.decode()
    assert "≠ measured differently" not in page and 'title="greedy">' in page
