import csv
import io
import json
import re
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.access import Role, give_role
from runs.models import Flag, Run
from tests.cases import each_case
from tests.conftest import person
from tests.runs.compare.compared_pages import address, page_of, section_of, text_of
from tests.runs.environments import report_environment
from tests.runs.flags.flag_cases import make_flagged_run
from tests.runs.full_runs import a_bit_of_everything, evaluation, make_run, record
from workers.records import Metric

pytestmark = pytest.mark.django_db


def figures(page):
    return [json.loads(f) for f in re.findall(r'<script type="application/json">(.*?)</script>', page)]


SMOOTH_MUST = "smooth must be a number from 0 to 0.999, gaussian-N (N up to 125) or median-N (N odd, up to 1001), not"


def test_common_evaluator_keys_come_first_in_requested_order(ada_client, pair):
    page = page_of(ada_client, [pair[2], pair[0]])
    assert re.findall(r'<h3 id="chart-[^"]*">([^<]*)<', page)[:3] == [
        "Held-out reward", "KL from the base model", "Accuracy",
    ]  # fmt: skip
    lines = figures(page)[0]["data"][:-1]
    assert [line["name"] for line in lines] == ["A · grpo-tiny seed 0", "B · es-tiny seed 0"]
    assert [line["meta"]["colour"] for line in lines] == ["grpo", "es"]


def test_without_a_choice_runs_are_offered(ada_client, pair):
    page = page_of(ada_client, [])
    assert "Compare selected runs" in page
    assert [f'value="{run.uid}"' in page for run in pair] == [True] * 4
    assert "chart-reward" not in page


def test_page_without_runs_explains_the_next_step(ada_client):
    assert "There are no runs yet." in page_of(ada_client, [])


def test_ten_runs_are_shown_and_the_rest_is_counted(ada_client, experiment):
    runs = [make_run(experiment, seed=seed) for seed in range(12)]
    page = page_of(ada_client, runs)
    assert "10 of 12 selected runs shown" in page
    assert "12 of 12 selected runs shown" in page_of(ada_client, runs, show="all")


def test_an_experiment_can_be_chosen_whole(ada_client, experiment, pair):
    page = page_of(ada_client, [], experiment=experiment.pk)
    assert "4 of 4 selected runs shown" in page


def test_runs_are_chosen_by_the_query_of_the_experiments_table(ada_client, experiment, pair):
    page = page_of(ada_client, [], experiment=experiment.pk, q=quote("method:grpo seed:1"))
    assert "1 of 1 selected run shown" in page
    assert figures(page)[0]["data"][0]["name"] == "A · grpo-tiny seed 1"
    wrong = ada_client.get(address([], experiment=experiment.pk, q="method:sgd"))
    assert wrong.status_code == 404
    assert "method must be one of es, grpo" in text_of(wrong.content.decode())


def test_all_runs_that_fit_a_query_are_compared_by_that_query(ada_client, experiment, pair):
    answer = ada_client.post(
        reverse("experiment-bulk", args=[experiment.pk]), {"do": "compare", "all": "1", "back": "q=method:grpo&page=2"}
    )
    assert answer["Location"] == f"/compare/?experiment={experiment.pk}&q=method%3Agrpo"
    assert "2 of 2 selected runs shown" in ada_client.get(answer["Location"]).content.decode()


def test_missing_experiment_is_reported(ada_client, pair):
    for number in ("0", "x", "9" * 40, "-1", "²"):
        answer = ada_client.get(address([], experiment=number))
        assert answer.status_code == 404, number
        assert "experiment must be the number of an experiment that you may see" in answer.content.decode(), number


def test_private_runs_are_hidden_from_others(cy_client, ada_client, private_experiment, pair):
    secret = make_run(private_experiment, seed=77)
    page = page_of(cy_client, [pair[0], secret])
    assert f"There is no run {secret.uid} that you may see." in page
    assert secret.name not in page
    for route in ("compare", "compare-chart", "compare-section"):
        assert cy_client.get(address([], route, experiment=private_experiment.pk)).status_code == 404
    assert secret.name in page_of(ada_client, [pair[0], secret])


@each_case(
    ("query", "messages"),
    [
        (
            {"x": "foo", "y": "foo", "smooth": "1", "config": "foo", "key": "("},
            [
                "x must be one of step, wall, relative, tokens, samples, gpu_seconds, not",
                "y must be one of linear, kl, log, not",
                SMOOTH_MUST,
                "config must be one of differences, everything, not",
                "is not a valid regular expression",
            ],
        ),
        ({"smooth": "much"}, [SMOOTH_MUST]),
        ({"smooth": "median-4"}, [SMOOTH_MUST]),
        ({"smooth": "gaussian-900", "key": "k" * 201}, [SMOOTH_MUST, "key must have at most 200 characters, not 201"]),
        ({"smooth": "nan"}, [SMOOTH_MUST]),
    ],
)
def test_invalid_parameter_is_answered_with_the_valid_values(ada_client, pair, query, messages):
    page = text_of(page_of(ada_client, pair[:1], **query))
    assert [message for message in messages if message not in page] == []


def test_curves_use_the_requested_axis(ada_client, pair):
    lasts = {"step": 5, "tokens": 500, "samples": 50, "relative": 1, "gpu_seconds": 0, "wall": 1_700_000_001_000}
    for x, last in lasts.items():
        assert figures(page_of(ada_client, pair[:1], x=x))[0]["data"][0]["x"][-1] == last, x


def test_curves_are_not_smoothed_by_default(ada_client, pair):
    assert len(figures(page_of(ada_client, pair[:1]))[0]["data"]) == 2
    raw, smoothed, _ = figures(page_of(ada_client, pair[:1], smooth=0.5))[0]["data"]
    assert raw["y"] == [-40, -7]
    assert smoothed["y"] == pytest.approx([-40, (-7 - 20) / 1.5])


def test_other_keys_are_grouped_by_section_and_drawn_when_unfolded(ada_client, pair):
    record(pair[0], [Metric(6, {"es/dead": 0.0, "es/update_norm": 1.0, "lambda": 2.0})])
    page = page_of(ada_client, pair)
    assert re.findall(r"<summary>(\w+) <span", page) == ["es", "other"]
    unfolded = page_of(ada_client, pair, "compare-section", section="es")
    assert re.findall(r'<h3 id="chart-[^"]*">([^<]*)<', unfolded) == ["es/update_norm", "es/dead"]
    folded = text_of(unfolded[unfolded.index('<details class="zero-charts"') :])
    assert folded.startswith("1 metric stayed at 0: es/dead")
    assert ada_client.get(address(pair, "compare-section", section="nosuch")).status_code == 404


def test_keys_are_searched_by_regular_expression_in_either_case(ada_client, pair):
    record(pair[0], [Metric(6, {"es/dead": 0.0, "es/update_norm": 1.0, "train/Grad_norm": 2.0})])
    page = page_of(ada_client, pair, key="grad|norm$")
    assert "2 of 2 other keys that match" in page
    assert "chart-es-update_norm" in page
    assert "chart-es-dead" not in page


def test_a_pattern_that_takes_for_ever_is_given_up(ada_client, pair, monkeypatch):
    monkeypatch.setattr("runs.compare.keys.SEARCH_MS", 100)
    record(pair[0], [Metric(6, {"a" * 239 + "b": 0.0})])
    slow = quote(r"^(a*)(a*)(a*)(a*)(a*)\5\4\3\2\1b$")
    assert "took too long" in text_of(page_of(ada_client, pair, key=slow))
    # The next question may take its time again.
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("0",)


def test_a_chart_is_also_words_a_table_and_csv(ada_client, pair):
    words = page_of(ada_client, pair[:2], "compare-chart", name="reward/mean")
    assert "A rose from −40 to −7; B rose from −40 to −9." in words
    assert "<html" not in words
    assert "<table>" in page_of(ada_client, pair, "compare-chart", name="reward/mean", **{"as": "table"})
    answer = ada_client.get(address(pair, "compare-chart", name="reward/mean", **{"as": "csv"}))
    assert answer["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [(r["letter"], r["step"], r["value"]) for r in rows[:3]] == [
        ("A", "0.0", "-40.0"), ("A", "5.0", "-7.0"), ("B", "0.0", "-40.0"),
    ]  # fmt: skip


def test_settings_are_held_against_the_baseline_that_is_chosen(ada_client, pair):
    # scipy.stats.ttest_ind([-20, -23], [-7, -9], equal_var=False): t = −7.488, p = 0.0251.
    p = "p = 0.025 (Welch's t, n = 2 + 2)"
    text = text_of(page_of(ada_client, pair)).replace("&#x27;", "'")
    assert f"−21.5 ± 2.12 n = 2, seeds 0, 1 −13.5 {p} " in text
    other = text_of(page_of(ada_client, pair, baseline=pair[3].uid)).replace("&#x27;", "'")
    assert f"+13.5 {p} " in other


def test_shares_differ_in_points(ada_client, pair):
    for run in pair[:2]:
        record(run, [Metric(6, {"accuracy/right": 0.7})])
    assert "+20 points" in text_of(page_of(ada_client, pair))


def test_seeds_that_were_not_chosen_are_counted_and_can_be_added(ada_client, pair):
    page = page_of(ada_client, [pair[0], pair[2]])
    assert "2 other runs of these groups are not compared here" in page
    (link,) = re.findall(r'<a\s+href="([^"]*)"\s*>Compare all runs', page)
    both = ada_client.get(reverse("compare") + link.replace("&amp;", "&")).content.decode()
    assert "4 of 4 selected runs shown" in both
    assert "not compared here" not in both


def test_baseline_is_chosen_automatically_with_its_reason(ada_client, pair):
    results = text_of(section_of(page_of(ada_client, pair), "standings"))
    assert "Baseline: es-tiny. Chosen because it is the first." in results
    more = text_of(section_of(page_of(ada_client, pair[1:]), "standings"))
    assert "Baseline: grpo-tiny. Chosen because it has the most evaluated seeds." in more
    alone = section_of(page_of(ada_client, pair[:2]), "standings")
    assert "Chosen because" not in alone and "<select" not in alone


def test_flagged_group_is_not_the_automatic_baseline(ada_client, experiment):
    flagged, other = make_flagged_run(experiment), make_run(experiment, "grpo-tiny", 3)
    page = ada_client.get(address([flagged, other]))
    assert page.context["baseline_uid"] == other.uid
    assert "Chosen because it has no open flags." in page.content.decode()
    assert ada_client.get(address([flagged])).context["baseline_uid"] == flagged.uid


def test_chosen_baseline_is_that_of_results_config_and_environments(ada_client, pair):
    for run in pair:
        report_environment(run.newest_attempt(), node=f"node{run.pk}", python=f"CPython 3.{run.seed}")
    response = ada_client.get(address(pair, baseline=pair[3].uid, x="tokens"))
    page = response.content.decode()
    (option,) = re.findall(r'<option value="(\w+)"\s+selected>', page)
    assert option == pair[2].uid
    assert '<input type="hidden" name="x" value="tokens">' in section_of(page, "standings")
    assert "Chosen because" not in page
    assert response.context["diff"].baseline == 1
    assert [row.has_baseline for row in response.context["ran_on"]] == [False, True]
    assert "Python CPython 3.0 instead of CPython 3.1" in page


def test_sections_are_linked_at_the_top(ada_client, pair):
    page = page_of(ada_client, pair)
    (links,) = re.findall(r'<nav class="contents".*?</nav>', page, re.DOTALL)
    targets = re.findall(r'href="#([^"]*)"', links)
    assert targets == ["curves-title", "standings-title", "diff-title"]
    assert all(page.count(f'id="{target}"') == 1 for target in targets)


def test_long_names_are_shown_by_what_differs_and_read_aloud_whole(ada_client, pair):
    names = [f"concise qwen lora rank 8 {which} attempt" for which in ("first", "second")]
    for run, name in zip(pair, names, strict=False):
        Run.objects.filter(pk=run.pk).update(name=name)
    table = section_of(page_of(ada_client, pair[:2]), "compared-runs")
    assert re.findall(r'<span aria-hidden="true">(\w+)</span>', table) == ["first", "second"]
    assert [table.count(f">{name}</span>") for name in names] == [1, 1]
    assert [table.count(f'title="{name}"') for name in names] == [1, 1]


def test_lines_of_runs_and_of_groups_are_switched_in_the_table(ada_client, pair):
    table = section_of(page_of(ada_client, pair, group="none"), "compared-runs")
    assert re.findall(r'data-line="([^"]*)"', table) == [run.uid for run in pair]
    assert re.findall(r'data-only="([^"]*)"', table) == [run.uid for run in pair]
    response = ada_client.get(address(pair, group="method"))
    table = section_of(response.content.decode(), "compared-runs")
    assert re.findall(r'data-line="([^"]*)"', table) == [group.slug for group in response.context["grouping"]]
    assert [run.name in table for run in pair] == [True] * 4


def test_runs_with_responses_are_offered_for_judging(ada_client, pair, experiment):
    answered = make_run(experiment, seed=5)
    record(answered, a_bit_of_everything())
    assert ada_client.get(address([pair[0], answered])).context["judge_uids"] == [answered.uid]
    assert ada_client.get(address(pair)).context["judge_uids"] == []


def test_users_who_cannot_create_tournaments_are_offered_none(client, pair, experiment):
    answered = make_run(experiment, seed=5)
    record(answered, a_bit_of_everything())
    viewer = person("vi")
    give_role(viewer, Role.VIEWER)
    client.force_login(viewer)
    assert client.get(address([answered])).context["judge_uids"] == []


def test_shown_runs_are_watched_from_the_batch_that_the_page_holds(ada_client, pair):
    page = ada_client.get(address(pair[:2]))
    assert page.context["watch"] == {run.uid: run.batches.latest("pk").pk for run in pair[:2]}


def test_run_without_records_can_be_compared(ada_client, experiment):
    text = text_of(page_of(ada_client, [make_run(experiment)]))
    assert "This run has no values for this chart yet." in text
    assert "not measured" in text


def test_a_run_by_a_strange_name_stays_text(ada_client, pair):
    Run.objects.filter(pk=pair[0].pk).update(name="<script>alert(1)</script>")
    assert "<script>alert" not in page_of(ada_client, pair)


def test_flagged_runs_are_counted_in_final_results_without_changing_numbers(ada_client, experiment):
    honest, flagged = make_run(experiment, seed=1, state="succeeded"), make_flagged_run(experiment)
    record(honest, [evaluation(0, -40.0), evaluation(5, -7.0)])
    page = page_of(ada_client, [honest, flagged])
    results = text_of(page[page.index('id="standings-title"') :])
    assert "1 of 2 flagged" in results
    assert f"1 of 2 runs has open flags ({flagged.name}): its reward may come from cheating." in results
    Flag.objects.all().delete()
    without = text_of((page := page_of(ada_client, [honest, flagged]))[page.index('id="standings-title"') :])
    assert "flagged" not in without and "cheating" not in without
    means = re.compile(r"−?[\d.]+ ± [\d.]+")
    assert means.findall(results) == means.findall(without) != []


def queries(client, where):
    with CaptureQueriesContext(connection) as captured:
        assert client.get(where).status_code == 200
    return len(captured)


@pytest.mark.parametrize("query", [{}, {"x": "relative", "key": "es/", "smooth": 0.6}])
def test_number_of_queries_is_equal_for_one_and_twelve_runs(ada_client, experiment, query):
    runs = [make_run(experiment)]
    record(runs[0], a_bit_of_everything())
    query_count = queries(ada_client, address(runs, **query))
    for seed in range(1, 12):
        runs.append(make_run(experiment, ("es-tiny", "grpo-tiny")[seed % 2], seed))
        record(runs[-1], [evaluation(0, -40), evaluation(5, -10)])
    assert queries(ada_client, address(runs, show="all", **query)) == query_count
    assert query_count <= 28


def test_flagged_runs_have_badges_in_the_list_of_runs(ada_client, experiment):
    flagged, other = make_flagged_run(experiment), make_run(experiment, seed=1)
    page = ada_client.get(f"/compare/?run={flagged.uid}&run={other.uid}").content.decode()
    table = page[page.index('class="compared-runs"') : page.index("</table>")]
    assert table.count("flag-badge") == 2 and "Reward up, right answers down" in table
