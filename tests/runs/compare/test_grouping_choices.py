"""Choices of what charts average over, and the labels of groups in narrow tables."""

from __future__ import annotations

import re

import pytest
from django.test import Client, RequestFactory

from runs.compare.chart_groups import grouping_choices, parse_group_columns
from runs.compare.run_table import Vocabulary
from runs.models import Experiment
from tests.cases import each_case
from tests.runs.full_runs import evaluation, make_run, record

FIRST = ((None, "all but seed"),)


@each_case(
    ("keys", "chosen", "other"),
    [([], None, ""), (["method"], "method", ""), (["method", "preset"], None, "method, preset")],
)
def test_current_choice_is_one_of_the_offered_or_the_other_keys(
    keys: list[str], chosen: str | None, other: str
) -> None:
    group = parse_group_columns(keys, Vocabulary(()))
    choices = grouping_choices(RequestFactory().get("/"), group, FIRST, [])
    assert (choices.chosen, choices.other) == (chosen, other)


@pytest.mark.django_db
def test_cells_of_groups_are_labelled_with_the_titles_of_their_columns(
    ada_client: Client, experiment: Experiment
) -> None:
    record(make_run(experiment, "es-tiny", 0), [evaluation(5, -10.0)])
    page = ada_client.get(f"{experiment.get_absolute_url()}?group=method&group=preset").content.decode()
    table = page.split('<table class="groups-table"')[1].split("</table>")[0]
    heads = re.findall(r'<th scope="col"[^>]*>\s*(?:<a[^>]*>)?\s*([^<]+?)\s*<', table)
    assert re.findall(r'data-label="([^"]*)"', table) == [head.rstrip(" ▲▼") for head in heads]
