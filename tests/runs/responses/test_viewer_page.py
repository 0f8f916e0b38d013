"""The page that compares answers: its contents for each user; its address holds the whole state."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.models import Preference, Response
from tests.cases import each_case
from tests.runs.viewer_responses import address, make_response, model

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def pair(experiment, runs_dir):
    base = model(experiment, "base", [make_response(n, f"Take the knife {n}", 1.0, 3.0) for n in range(30)])
    tuned = model(experiment, "tuned", [make_response(n, f"Take a rest {n}", 2.0, -3.0) for n in range(30)], seed=1)
    return base, tuned


def page_of(client, *columns, **query):
    answer = client.get(address(*columns, **query))
    assert answer.status_code == 200
    return answer.content.decode()


def test_prompts_are_rows_and_runs_are_columns(ada_client, pair):
    page = page_of(ada_client, *pair)
    assert "30 of 30 rows, 10 shown" in page
    assert page.count("data-row") == 10
    assert page.index("Take the knife 0") < page.index("Take a rest 0") < page.index("Take the knife 2")
    assert "SH 30" in " ".join(page.split())
    assert "UH 30" in " ".join(page.split())


def test_next_page_preserves_the_query(ada_client, pair):
    answer = ada_client.get(address(*pair, quadrant="SH", sort="-reward"))
    there = answer.context["next"]
    assert "quadrant=SH" in there
    assert "sort=-reward" in there
    following = ada_client.get(reverse("viewer") + there)
    assert [row.prompt.row for row in following.context["rows"]] == list(range(10, 20))
    marked = ada_client.get(reverse("viewer") + following.context["diff_address"])
    assert [row.prompt.row for row in marked.context["rows"]] == list(range(10, 20))
    back = ada_client.get(reverse("viewer") + following.context["previous"])
    assert [row.prompt.row for row in back.context["rows"]] == list(range(10))


def test_address_omits_defaults(ada_client, pair):
    long_address = address(*pair, q="", quadrant="", sort="-reward", reward_min="")
    assert ada_client.get(f"{long_address}&quadrant=SH")["Location"] == address(*pair, quadrant="SH", sort="-reward")


def test_differences_from_the_pinned_column_are_marked(ada_client, pair):
    page = page_of(ada_client, *pair, diff="pinned")
    assert "Take <del>the knife </del><ins>a rest </ins>0" in page
    pinned = page_of(ada_client, *pair, diff="pinned", pin=f"{pair[1].uid}@500")
    assert "Take <del>a rest </del><ins>the knife </ins>0" in pinned


def test_answers_are_text_and_never_html(ada_client, experiment, runs_dir):
    run = model(experiment, "hostile", [make_response(0, HOSTILE, 1.0, None, prompt=HOSTILE)])
    page = page_of(ada_client, run)
    assert HOSTILE not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 2


def test_disturbing_answers_are_covered_by_default(ada, ada_client, pair):
    here = address(*pair)
    assert "covered" in ada_client.get(here).content.decode()
    assert ada_client.post(reverse("viewer-cover"), {"show": "now", "next": here})["Location"] == here
    assert ada_client.get(here).context["is_covered"] is False
    ada_client.session.flush()
    ada_client.force_login(ada)
    assert ada_client.get(here).context["is_covered"] is True
    ada_client.post(reverse("viewer-cover"), {"show": "always", "next": "https://elsewhere.example/"})
    assert Preference.objects.get().shows_answers
    ada_client.session.flush()
    ada_client.force_login(ada)
    assert ada_client.get(here).context["is_covered"] is False
    ada_client.post(reverse("viewer-cover"), {"show": "never"})
    assert ada_client.get(here).context["is_covered"] is True


def test_answers_without_costs_are_never_covered(ada_client, experiment, runs_dir):
    run = model(experiment, "plain", [make_response(0, "Madrid", 1.0, None)])
    assert ada_client.get(address(run)).context["is_covered"] is False


def test_notice_of_blurred_text_needs_a_text(ada_client, experiment, runs_dir):
    run = model(experiment, "scored", [make_response(0, "", 1.0, 2.0), make_response(1, "", 1.0, -2.0)])
    responses = Response.objects.filter(run=run)
    cell_address = ada_client.get(address(run)).context["rows"][0].cells[0].address
    history = reverse("time-machine", args=[responses.first().prompt.word])
    for words in (0, None):
        responses.update(words=words)
        for there in (address(run), cell_address, f"{history}?run={run.uid}"):
            page = ada_client.get(there).content.decode()
            assert "Always show such responses" not in page and "Blur responses" not in page
    assert "Cost" in ada_client.get(address(run)).content.decode()
    responses.update(words=2, text="a text")
    for there in (address(run), cell_address, f"{history}?run={run.uid}"):
        assert "Always show such responses" in ada_client.get(there).content.decode()


def test_stored_layout_is_rendered(ada_client, pair):
    assert re.search(r'<response-keys class="beside covered" data-columns="2"\s*>', page_of(ada_client, *pair))
    ada_client.cookies["responses-whole"] = "on"
    page = page_of(ada_client, *pair)
    assert re.search(r'<response-keys class="beside covered" data-columns="2"\s+data-whole\s*>', page)
    assert re.findall(r'data-shape="(\w+)"\s+aria-pressed="(\w+)"', page) == [("whole", "true"), ("together", "false")]


def test_nobody_sees_answers_of_what_they_may_not_see(ada_client, bo_client, private_experiment, runs_dir):
    run = model(private_experiment, "hidden", [make_response(0, "a secret", 1.0, None)])
    assert "a secret" in page_of(ada_client, run)
    refused = bo_client.get(address(run))
    assert refused.status_code == 404
    assert "a secret" not in refused.content.decode()
    there = ada_client.get(address(run)).context["rows"][0].cells[0].address
    assert ada_client.get(there).status_code == 200
    assert bo_client.get(there).status_code == 404
    assert bo_client.get(address(run, route="viewer-export")).status_code == 404


def test_each_answer_has_its_own_address(ada_client, pair):
    rows = ada_client.get(address(*pair)).context["rows"]
    addresses = {cell.address for row in rows for cell in row.cells}
    assert len(addresses) == 20
    first, second = (row.cells[0] for row in rows[:2])
    assert first.response.prompt.text == second.response.prompt.text
    page = ada_client.get(second.address).content.decode()
    assert "Take the knife 1" in page
    assert "Row 1 of its data set." in page


def test_the_answer_that_a_link_names_may_not_be_there(ada_client, pair):
    assert ada_client.get(reverse("viewer-response", args=[pair[0].uid, 500, "0" * 16])).status_code == 404


def test_export_contains_all_matching_rows(ada_client, pair):
    answer = ada_client.get(address(*pair, route="viewer-export", quadrant="SH", form="jsonl"))
    lines = [json.loads(line) for line in answer.content.decode().splitlines()]
    assert len(lines) == 60
    assert lines[1]["text"] == "Take a rest 0"
    assert (lines[1]["run"], lines[1]["quadrant"], lines[1]["cost"]) == (pair[1].uid, "SH", -3.0)
    csv_reply = ada_client.get(address(*pair, route="viewer-export", form="csv"))
    table = list(csv.DictReader(io.StringIO(csv_reply.content.decode())))
    assert (len(table), table[0]["row"], table[0]["words"]) == (60, "0", "4")


@each_case(
    ("wrong", "status"),
    [({"form": "xls"}, 404), ({"sort": "size"}, 404), ({"pin": "x"}, 404), ({"q": "(", "as": "regex"}, 400)],
    ids=["form", "sort", "pin", "expression"],
)
def test_invalid_export_is_refused(ada_client, pair, wrong, status):
    assert ada_client.get(address(*pair, route="viewer-export", **wrong)).status_code == status
    assert ada_client.get(reverse("viewer-export")).status_code == 400


def test_scatter_has_a_cloud_for_each_column_and_a_ring(ada_client, pair):
    answer = ada_client.get(address(*pair, route="viewer-scatter", lasso="0,0,1,0,1,1"))
    figure = answer.context["chart"].figure
    assert [(trace["name"], len(trace["x"])) for trace in figure["data"]] == [("A · base", 30), ("B · tuned", 30)]
    assert figure["layout"]["shapes"][-1]["path"] == "M 0 0 L 1 0 L 1 1 Z"
    assert "lasso" not in answer.context["ask_address"]
    table = ada_client.get(address(*pair, route="viewer-scatter", **{"as": "csv"})).content.decode().splitlines()
    assert (table[0], len(table)) == ("letter,run,reward,cost", 61)


def test_a_page_without_columns_offers_runs_that_have_answers(ada_client, pair, experiment):
    page = page_of(ada_client)
    assert page.count('name="run"') == 2
    assert "None" not in page
    Response.objects.all().delete()
    assert "No saved responses yet" in page_of(ada_client)


def test_invalid_query_is_reported_and_the_page_is_rendered(ada_client, pair):
    page = page_of(ada_client, *pair, sort="size", after="xx")
    assert "sort must be one of row, reward" in page
    assert "Unknown position after" in page
    assert page.count("data-row") == 10


def test_number_of_queries_is_independent_of_the_number_of_answers(ada_client, pair, experiment):
    few = model(experiment, "few", [make_response(0, "one", 1.0, 1.0)], seed=2)
    counts = []
    for columns in ((few,), (*pair, few)):
        ada_client.get(address(*columns, diff="pinned"))
        with CaptureQueriesContext(
            connection,
        ) as captured:
            page_of(ada_client, *columns, diff="pinned")
        counts.append(len(captured))
    assert counts[0] == counts[1]


WRONG = {
    "in=Z": "in must be one of any, all, A, B, not &#x27;Z&#x27;.",
    "quadrant=XX": "quadrant must be one of",
    "category=Drgs": "category must be omitted, not &#x27;Drgs&#x27;",
    "scores=nobody": "scores must be omitted",
    "pin=x": "pin must be one of",
    "criterion=beauty": "criterion must be omitted",
    "reward_min=high": "reward_min must be a number, not &#x27;high&#x27;.",
    "samples=some": "samples must be one of all, not &#x27;some&#x27;.",
}


@each_case("wrong", WRONG)
def test_unknown_rows_return_404_with_the_form(ada_client, pair, wrong):
    name, _, value = wrong.partition("=")
    answer = ada_client.get(address(*pair, **{name: value}))
    page = answer.content.decode()
    assert answer.status_code == 404
    assert WRONG[wrong] in page
    assert ada_client.get(f"{reverse('viewer')}{answer.context['bare']}").status_code == 200
    assert 'id="asked-q"' in page
    assert "data-row" not in page
    for form in ("csv", "table"):
        assert ada_client.get(address(*pair, route="viewer-scatter", **{name: value, "as": form})).status_code == 404
    assert ada_client.get(address(*pair, route="viewer-export", **{name: value})).status_code == 404


def test_unknown_step_of_a_run_returns_404(ada_client, pair):
    answer = ada_client.get(address(f"{pair[0].uid}@7", pair[1]))
    assert answer.status_code == 404
    assert "base has no responses of step 7. Its steps: 500." in answer.content.decode()


def test_missing_run_is_a_notice_among_others_and_404_alone(ada_client, pair):
    page = page_of(ada_client, pair[0], "nosuch")
    assert "There is no run nosuch that you may see." in page
    assert page.count("data-row") == 10
    for route in ("viewer-scatter", "viewer-export"):
        assert ada_client.get(address(pair[0], "nosuch", route=route)).status_code == 404
    assert ada_client.get(address("nosuch")).status_code == 404


def test_letters_go_with_their_columns_when_another_is_removed(ada_client, pair):
    heads = ada_client.get(address(*pair, **{"in": "B", "of": "A"})).context["heads"]
    assert "&in=A" in heads[0].remove
    assert "&of=" not in heads[0].remove
    assert "&in=" not in heads[1].remove
    assert "of=A" in heads[1].remove


def test_scatter_as_csv_reads_the_text_as_its_page_does(ada_client, pair):
    there = address(*pair, route="viewer-scatter", q="^Take", **{"as": "regex"})
    points = ada_client.get(f"{there}&as=csv").content.decode().splitlines()
    figure = ada_client.get(there).context["chart"].figure
    assert len(points) - 1 == sum(len(trace["x"]) for trace in figure["data"]) > 1
