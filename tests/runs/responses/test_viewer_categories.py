"""Answers are filtered by the categories of their prompts; the address and the page name them with counts."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.http import QueryDict

from runs.responses.viewer import categories, columns_of, find, parse_response_query
from tests.cases import each_case
from tests.runs.viewer_responses import address, make_response, model

ABOUT = (("Drugs", "Violence"), ("Violence",), (), ("source: web",))


@pytest.fixture
def pair(experiment, runs_dir):
    """Return two runs on eight rows, of which every fourth is about the same; one of them answered half."""
    responses = [make_response(n, f"No {n}", 1.0, -1.0, categories=ABOUT[n % 4]) for n in range(8)]
    return model(experiment, "base", responses), model(experiment, "tuned", responses[:4], seed=1)


def rows(person, columns, query):
    selected_columns = columns_of(person, [run.uid for run in columns])
    query_options = parse_response_query(
        QueryDict(query), selected_columns.letters, categories=categories(selected_columns)
    )
    assert query_options.problems == ()
    return [row.cursor.row for row in find(selected_columns, query_options, 50).rows]


@each_case(
    ("query", "expected"),
    [
        ("category=Drugs", [0, 4]),
        ("category=Violence", [0, 1, 4, 5]),
        ("category=Drugs&category=source:+web", [0, 3, 4, 7]),
        ("category=Violence&in=B", [0, 1, 4, 5]),
        ("category=Violence&in=B&reward_min=0", [0, 1]),
        ("category=Violence&q=no+5", [5]),
        ("category=Drugs&sort=-row", [4, 0]),
    ],
)
def test_rows_of_any_selected_category_match(ada, pair, query, expected):
    assert rows(ada, pair, query) == expected


def test_each_category_is_counted_once_a_prompt_the_most_first(ada, pair):
    assert categories(columns_of(ada, [run.uid for run in pair])) == {"Violence": 4, "Drugs": 2, "source: web": 2}
    assert categories(columns_of(ada, [pair[1].uid])) == {"Violence": 2, "Drugs": 1, "source: web": 1}
    assert categories(columns_of(ada, [])) == {}


def test_unknown_category_is_reported_with_the_existing_ones(ada, pair, ada_client):
    columns = columns_of(ada, [run.uid for run in pair])
    (problem,) = parse_response_query(
        QueryDict("category=Drgs"), columns.letters, categories=categories(columns)
    ).problems
    assert problem == "category must be one of Violence, Drugs, source: web, not 'Drgs'."
    assert ada_client.get(address(*pair, category="Drgs", route="viewer-export")).status_code == 404


def test_page_shows_category_counts_and_links(ada_client, pair):
    answer = ada_client.get(address(*pair, category="Drugs", sort="-reward"))
    page = " ".join(answer.content.decode().split())
    assert "2 of 8 rows" in page
    assert 'value="Drugs" checked> Drugs <span class="quiet">2</span>' in page
    assert 'value="Violence"> Violence <span class="quiet">4</span>' in page
    ((words, without),) = answer.context["in_words"]
    assert (words, "category" in without, "sort=-reward" in without) == ("Drugs", False, True)
    assert dict(answer.context["rows"][0].kinds)["Violence"].endswith("&category=Violence")
    assert "category=Drugs" in answer.context["export"]
    assert 'class="tag">Violence</span>' in ada_client.get(answer.context["rows"][0].cells[0].address).content.decode()


def test_prompts_of_no_category_offer_none(ada_client, experiment, runs_dir):
    run = model(experiment, "plain", [make_response(n, "No", 1.0, None) for n in range(3)])
    assert 'name="category"' not in ada_client.get(address(run)).content.decode()


def test_the_export_names_them(ada_client, pair):
    export_address = address(*pair, route="viewer-export", category="Drugs")
    lines = [json.loads(line) for line in ada_client.get(f"{export_address}&form=jsonl").content.decode().splitlines()]
    assert [(line["row"], line["categories"]) for line in lines] == [
        ("0", ["Drugs", "Violence"]), ("0", ["Drugs", "Violence"]), ("4", ["Drugs", "Violence"])
    ]  # fmt: skip
    table = list(csv.DictReader(io.StringIO(ada_client.get(f"{export_address}&form=csv").content.decode())))
    assert {row["categories"] for row in table} == {"Drugs; Violence"}


def test_a_name_is_text_and_never_html(ada_client, experiment, runs_dir):
    run = model(experiment, "hostile", [make_response(0, "No", 1.0, None, categories=("<script>alert(1)</script>",))])
    page = ada_client.get(address(run)).content.decode()
    assert "<script>alert(1)" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 2
