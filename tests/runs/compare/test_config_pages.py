"""The differences of the configs on the page that compares runs."""

import csv
import io
import json
import re
from html import unescape

import pytest

from runs.models import Run
from tests.runs.compare.compared_pages import address, copy_of, page_of, section_of, text_of
from tests.runs.compare.setting_counts import count_settings
from workers.config import EsConfig, GrpoConfig, RunConfig

pytestmark = pytest.mark.django_db


def test_configs_show_only_differences_by_default(ada_client, pair):
    page = page_of(ada_client, pair[:2])
    assert re.findall(r'data-differs="([^"]*)"', page) == ["seed"]
    assert "sigma" not in section_of(page, "diff")
    everything = page_of(ada_client, pair[:2], config="everything")
    assert re.findall(r'data-differs="([^"]*)"', everything) == ["seed"]
    assert "sigma" in section_of(everything, "diff")
    assert "The configs of these runs are equal." in page_of(ada_client, [pair[0], copy_of(pair[0])])


def test_prior_tasks_are_shown_by_what_is_not_a_default_and_whole_on_hover_and_in_csv(ada_client, experiment):
    prior = [
        [{"name": "countdown"}],
        [{"name": "countdown"}, {"name": "math", "options": {"eval_file": "math500.jsonl"}}],
    ]
    runs = [evaluation_run(experiment, {"method": "evaluate", "evaluate": {"prior_tasks": tasks}}) for tasks in prior]
    stored = [json.dumps(run.config["evaluate"]["prior_tasks"], sort_keys=True) for run in runs]
    diff = section_of(page_of(ada_client, runs), "diff")
    values = re.findall(r'<code title="(.*?)">(.*?)</code>', diff)
    assert [unescape(title) for title, _ in values] == stored
    assert [text for _, text in values] == ["countdown", "countdown, math (eval_file=math500.jsonl)"]
    answer = ada_client.get(address(runs, "compare-table", table="config", **{"as": "csv"}))
    (row,) = [row for row in csv.reader(io.StringIO(answer.content.decode())) if row[0] == "evaluate.prior_tasks"]
    assert row[1:] == stored


def test_configs_of_two_methods_show_shared_settings_and_fold_the_others(ada_client, pair):
    diff = section_of(page_of(ada_client, pair), "diff")
    assert re.findall(r"<summary>\s*(\w+: .*?)\s*</summary>", diff, re.DOTALL) == [
        f"es: {count_settings(EsConfig())} settings, only in ES runs",
        f"grpo: {count_settings(GrpoConfig())} settings, only in GRPO runs",
    ]
    table = diff[: diff.index("</table>")]
    assert re.findall(r'<th scope="row"[^>]*>(\w+)<', table) == ["method", "seed"]
    assert re.findall(r'data-differs="([^"]*)"', table) == ["method"]
    heads = [text_of(head) for head in re.findall(r"<th scope=\"col\"\s+class=.*?</th>", table, re.DOTALL)]
    assert heads == ["A B A B n&nbsp;=&nbsp;2 es-tiny ◆ baseline", "C D C D n&nbsp;=&nbsp;2 grpo-tiny"]


def evaluation_run(experiment, config):
    return Run.objects.create(
        experiment=experiment, name="evaluate", method="evaluate", seed=0, created_by=experiment.owner,
        config=RunConfig.from_json(config).to_json(),
    )  # fmt: skip
