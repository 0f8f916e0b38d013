"""The column, the condition and the order of flags in run tables."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from runs.flags import dismiss
from runs.models import Experiment, Flag, Run
from tests.cases import each_case
from tests.runs.full_runs import make_run
from workers.analysis.detectors import DETECTORS

pytestmark = pytest.mark.django_db
FLAGS = (("empty", "accuracy"), ("language",), (), ("empty",))
"""Detectors that fired on the run of each seed; the flag of the last run is dismissed."""


def make_flag(run: Run, detector: str, **values: Any) -> Flag:
    """Create a flag of a run."""
    numbers = {"step": 10, "first_step": 5, "value": 0.5, "limit": 0.1, "before": 0.0, "n": 160}
    fields = {"compared_with": "step 0", "data_hash": "ab", "detected_at": timezone.now()}
    return Flag.objects.create(run=run, detector=detector, **(numbers | fields | values))


@pytest.fixture
def four(experiment: Experiment, ada: User) -> list[Run]:
    """Return runs of seeds 0 to 3 with the flags of FLAGS."""
    runs = [make_run(experiment, seed=seed, state="succeeded") for seed in range(len(FLAGS))]
    flags = [make_flag(run, detector) for run, names in zip(runs, FLAGS, strict=True) for detector in names]
    dismiss(flags[-1], ada, "The task asks for silence.")
    return runs


def table_of(client: Client, experiment: Experiment, **query: Any) -> Any:
    """Return the table of the experiment's page."""
    return client.get(experiment.get_absolute_url(), query).context["table"]


def seeds_of(client: Client, experiment: Experiment, **query: Any) -> list[int]:
    """Return the seeds of the table's rows, in their order."""
    return [row.run.seed for row in table_of(client, experiment, **query).rows]


def keys_of(client: Client, experiment: Experiment, **query: Any) -> list[str]:
    """Return the keys of the table's columns."""
    return [column.key for column in table_of(client, experiment, **query).query.columns]


def test_column_is_shown_by_default_if_a_current_run_has_an_open_flag(
    ada_client: Client, experiment: Experiment, four: list[Run]
) -> None:
    assert keys_of(ada_client, experiment)[:2] == ["state", "flags"]
    assert "flags" not in keys_of(ada_client, experiment, col=["state", "kl"])
    Run.objects.filter(pk__in=[run.pk for run in four[:2]]).update(archived_at=timezone.now())
    assert "flags" not in keys_of(ada_client, experiment)


def test_cell_links_badges_to_the_flags_of_the_run(ada_client: Client, experiment: Experiment, four: list[Run]) -> None:
    page = ada_client.get(experiment.get_absolute_url()).content.decode()
    cells = re.findall(r'<td role="cell" class="flag-cell" data-label="Flags">(.*?)</td>', page, re.DOTALL)
    assert len(cells) == 4 and cells[:2] == ["–", "–"]
    assert f'href="{four[0].get_absolute_url()}#flags"' in cells[3]
    assert "Reward up, right answers down" in cells[3] and "Empty responses" in cells[3]
    assert "Another language" in cells[2]


@each_case(
    ("line", "seeds"),
    [
        ("flag:any", [1, 0]), ("flags:any", [1, 0]), ("flag:none", [3, 2]), ("-flag:any", [3, 2]),
        ("flag:empty", [0]), ("flag:empty,language", [1, 0]), ("flag!=empty", [3, 2, 1]),
        ("flag:none,language", [3, 2, 1]), ("flag:collapse", []), ("flag:any seed:1", [1]),
    ],
)  # fmt: skip
def test_query_selects_runs_by_open_flags(
    ada_client: Client, experiment: Experiment, four: list[Run], line: str, seeds: list[int]
) -> None:
    assert seeds_of(ada_client, experiment, q=line) == seeds


@each_case("line", ["flag:nosuch", "flag:1..2", "flag:yes"])
def test_unknown_flag_is_refused_with_the_detectors(
    ada_client: Client, experiment: Experiment, four: list[Run], line: str
) -> None:
    (problem,) = table_of(ada_client, experiment, q=line).problems
    names = ", ".join(["any", "none", *(detector.name for detector in DETECTORS)])
    assert problem.message.startswith(f"flags must be one of {names}, not ")


def test_flag_accepts_only_equality(ada_client: Client, experiment: Experiment, four: list[Run]) -> None:
    (problem,) = table_of(ada_client, experiment, q="flag>1").problems
    assert problem.message == "flag takes :, not >."


@pytest.mark.parametrize(("sort", "seeds"), [("-flags", [0, 1, 3, 2]), ("flags", [1, 0, 3, 2])])
def test_table_is_sorted_by_number_of_open_flags_across_pages(
    ada_client: Client,
    experiment: Experiment,
    four: list[Run],
    monkeypatch: pytest.MonkeyPatch,
    sort: str,
    seeds: list[int],
) -> None:
    assert seeds_of(ada_client, experiment, sort=sort) == seeds
    assert seeds_of(ada_client, experiment, sort=sort, q="seed:0..3") == seeds
    monkeypatch.setattr("runs.compare.run_table.table.RUNS_PER_PAGE", 1)
    address, paged = f"{experiment.get_absolute_url()}?sort={sort}", []
    while address:
        table = ada_client.get(address).context["table"]
        paged += [row.run.seed for row in table.rows]
        address = table.following and experiment.get_absolute_url() + table.following
    assert paged == seeds


def test_groups_count_flagged_runs(ada_client: Client, experiment: Experiment, four: list[Run]) -> None:
    response = ada_client.get(experiment.get_absolute_url(), {"group": "recipe"})
    (group,) = response.context["table"].groups
    assert (group.row.flagged, group.row.n) == (2, 4)
    assert "2 of 4 flagged" in response.content.decode()
    inside = ada_client.get(experiment.get_absolute_url() + group.flagged_address)
    assert [row.run.seed for row in inside.context["table"].rows] == [1, 0]


def test_groups_without_the_column_count_no_flags(ada_client: Client, experiment: Experiment, four: list[Run]) -> None:
    response = ada_client.get(experiment.get_absolute_url(), {"group": "recipe", "col": "kl"})
    assert response.context["table"].groups[0].row.flagged is None
    assert "flagged" not in response.content.decode()


def test_flags_are_no_key_of_groups(ada_client: Client, experiment: Experiment, four: list[Run]) -> None:
    assert ada_client.get(experiment.get_absolute_url(), {"group": "flags"}).status_code == 404


def test_number_of_queries_is_equal_for_two_and_twenty_flagged_runs(
    ada_client: Client, experiment: Experiment, four: list[Run]
) -> None:
    def count() -> int:
        # The first view stores the looks of its groups.
        ada_client.get(experiment.get_absolute_url(), {"q": "flag:any", "sort": "-flags"})
        with CaptureQueriesContext(connection) as captured:
            ada_client.get(experiment.get_absolute_url(), {"q": "flag:any", "sort": "-flags"})
        return len(captured)

    few = count()
    for seed in range(4, 22):
        make_flag(make_run(experiment, seed=seed), "empty")
    assert count() == few
