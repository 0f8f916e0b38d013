"""The viewer shows the expected answer of a prompt and whether responses are right, and filters and sorts by it."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.http import QueryDict

from runs.models import Response
from runs.responses.viewer import columns_of, find, parse_response_query
from runs.responses.viewer.correctness import CORRECTNESS, correctness_of
from tests.cases import each_case
from tests.runs.viewer_responses import address, make_response, model

RIGHT, CONTAINS, WRONG = (
    {"exact": 1.0, "contains": 1.0},
    {"exact": 0.0, "contains": 1.0},
    {"exact": 0.0, "contains": 0.0},
)
HOSTILE = "<script>alert(1)</script>"


def answer_to(row: int, text: str, parts: dict[str, float], reward: float = 0.0, target: str = "Paris"):
    """Return a response to a prompt that has an expected answer."""
    return make_response(row, text, reward, None, parts=parts, target=target)


@pytest.fixture
def pair(experiment, runs_dir):
    """Return two runs on five rows. Row 4 belongs to a task without right answers."""
    base = model(experiment, "base", [
        answer_to(0, "Paris", RIGHT), answer_to(1, "It isn't Paris.", CONTAINS), answer_to(2, "Rome", WRONG),
        answer_to(3, "Bonn", {"contains": 0.0}), answer_to(4, "Hello", {"characters": 5.0}, target=""),
    ])  # fmt: skip
    tuned = model(experiment, "tuned", [
        answer_to(0, "Lyon", WRONG), answer_to(1, "Paris", RIGHT), answer_to(2, "Paris", RIGHT),
        answer_to(3, "Paris or Rome", {"contains": 1.0}), answer_to(4, "Hi", {"characters": 2.0}, target=""),
    ], seed=1)  # fmt: skip
    return base, tuned


def rows(person, columns, query: str) -> list[int]:
    """Return the matching rows of the data set, in their order."""
    selected = columns_of(person, [run.uid for run in columns])
    options = parse_response_query(QueryDict(query), selected.letters)
    assert options.problems == ()
    return [row.cursor.row for row in find(selected, options, 50).rows]


def page_of(client, *columns, **query) -> str:
    answer = client.get(address(*columns, **query))
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


@each_case(
    ("query", "expected"),
    [
        ("correctness=right", [0, 1, 2]),
        ("correctness=right&in=A", [0]),
        ("correctness=contains", [1, 3]),
        ("correctness=right&correctness=contains&in=A", [0, 1]),
        ("correctness=wrong&in=A", [2, 3]),
        ("correctness=wrong", [0, 2, 3]),
        ("correctness=right&in=all", []),
        ("correctness=right&correctness=contains&in=all", [1]),
        ("change=corrected", [1, 2]),
        ("change=broken", [0]),
        ("correctness=wrong&words_min=1&sort=-row&in=A", [3, 2]),
    ],
)
def test_rows_filter_by_correctness(ada, pair, query, expected):
    assert rows(ada, pair, query) == expected


@each_case(
    ("text", "target", "parts", "expected"),
    [
        ("Paris", "Paris", RIGHT, "right"),
        ("It is Paris.", "Paris", CONTAINS, "right"),
        ("It is Paris.", "Paris", {}, "right"),
        ("Not Paris", "Paris", CONTAINS, "contains"),
        ("Not Paris", "Paris", {}, "wrong"),
        ("Rome", "Paris", WRONG, "wrong"),
        ("Rome", "Paris", {"right": 1.0, "contains": 0.0}, "right"),
        ("Paris", "", {"contains": 1.0}, "contains"),
        ("Paris", "", {"exact": 1.0}, "contains"),
        ("Paris", "", {"exact": 0.5}, ""),
        ("Paris", "", {"contains": 0.0}, ""),
        ("Paris", "", {"cost": 1.0}, ""),
    ],
    ids=str,
)
def test_correctness_is_the_same_in_page_and_database(ada, experiment, runs_dir, text, target, parts, expected):
    run = model(experiment, "es", [answer_to(0, text, parts, target=target)])
    assert correctness_of(Response.objects.get()) == expected
    assert {name for name in CORRECTNESS if rows(ada, [run], f"correctness={name}")} == {expected} - {""}


def test_unknown_correctness_is_reported_with_the_choices():
    (problem,) = parse_response_query(QueryDict("correctness=good"), ["A"]).problems
    assert problem == "correctness must be one of right, contains, wrong, not 'good'."


def test_page_shows_expected_answer_and_correctness(ada_client, pair):
    page = page_of(ada_client, *pair)
    assert page.count("Expected answer:") == 4
    assert page.count('<span class="sign" aria-hidden="true">✓</span>right') == 3
    assert page.count('<span class="sign" aria-hidden="true">◐</span>only contains the expected answer') == 2
    assert page.count('<span class="sign" aria-hidden="true">✗</span>wrong') == 3
    assert 'name="correctness" value="wrong"' in page


def test_page_without_right_answers_has_no_badge(ada_client, experiment, runs_dir):
    run = model(experiment, "plain", [make_response(0, "Hello", 1.0, None)])
    page = page_of(ada_client, run)
    assert "Expected answer" not in page
    assert 'name="correctness"' not in page
    assert "✗" not in page


def test_filter_is_described_and_removable(ada_client, pair):
    answer = ada_client.get(f"{address(*pair, correctness='wrong')}&correctness=contains")
    ((words, without),) = answer.context["in_words"]
    assert words == "only contains the expected answer or wrong"
    assert "correctness" not in without
    assert 'value="wrong" checked' in answer.content.decode()
    empty = ada_client.get(address(*pair, correctness="right", q="nothing")).content.decode()
    assert 'name="correctness"' in empty


def test_expected_answer_is_text_and_never_html(ada_client, experiment, runs_dir):
    run = model(experiment, "hostile", [answer_to(0, "x", WRONG, target=HOSTILE)])
    there = ada_client.get(address(run)).context["rows"][0].cells[0].address
    for page in (page_of(ada_client, run), ada_client.get(there).content.decode()):
        assert HOSTILE not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
        assert "Expected answer:" in page


def test_long_expected_answer_is_folded(ada_client, experiment, runs_dir):
    run = model(experiment, "long", [answer_to(0, "x", WRONG, target="a sentence " * 40)])
    page = page_of(ada_client, run)
    assert '<details class="expected-answer"><summary>' in page
    assert f"{'a sentence ' * 40}".strip() in page


def test_export_has_expected_answer_and_correctness(ada_client, pair):
    there = address(*pair, route="viewer-export", **{"in": "A", "correctness": "wrong"})
    lines = [json.loads(line) for line in ada_client.get(f"{there}&form=jsonl").content.decode().splitlines()]
    assert [(line["row"], line["target"], line["correctness"]) for line in lines] == [
        ("2", "Paris", "wrong"), ("2", "Paris", "right"), ("3", "Paris", "wrong"), ("3", "Paris", "contains"),
    ]  # fmt: skip
    table = list(csv.DictReader(io.StringIO(ada_client.get(f"{there}&form=csv").content.decode())))
    assert [row["correctness"] for row in table] == ["wrong", "right", "wrong", "contains"]


@pytest.fixture
def trio(experiment, runs_dir):
    """Return three runs whose rewards and texts differ most in rows 2, 1, 4, 3; row 0 is the same in all."""
    texts = [["same", "same", "a", "one two", "one"], ["same", "b", "a", "one three", "one two three"]]
    rewards = [[1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.5, 1.0, 1.0, 1.0], [1.0, 1.0, -3.0, 1.0, 1.0]]
    answers = [
        [make_response(n, text, reward, None) for n, (text, reward) in enumerate(zip(*column, strict=True))]
        for column in zip([*texts, texts[0]], rewards, strict=True)
    ]
    return [model(experiment, f"run {n}", column, seed=n) for n, column in enumerate(answers)]


def test_largest_differences_come_first(ada, trio):
    assert rows(ada, trio, "sort=-difference") == [2, 1, 4, 3, 0]
    assert rows(ada, trio, "sort=difference") == [0, 3, 4, 1, 2]
    assert rows(ada, trio[:1], "sort=-difference") == [0, 1, 2, 3, 4]


def test_difference_ignores_rewards_that_are_no_numbers(ada, experiment, runs_dir):
    base = model(experiment, "base", [make_response(n, f"text {n}", 1.0, None) for n in range(3)])
    other = [make_response(0, "text 0", float("nan"), None), make_response(1, "text 1", 3.0, None)]
    tuned = model(experiment, "tuned", other, seed=1)
    assert rows(ada, [base, tuned], "sort=-difference") == [1, 0, 2]


def test_difference_link_sorts_by_the_pinned_column(ada_client, trio):
    answer = ada_client.get(address(*trio))
    there = answer.context["difference_address"]
    assert "Largest differences from column A" in answer.content.decode()
    assert f"pin={trio[0].uid}%40500" in there
    sorted_page = ada_client.get(f"/responses/{there}")
    assert [row.prompt.row for row in sorted_page.context["rows"]] == [2, 1, 4, 3, 0]
    assert 'aria-current="true" title="Sorted by the largest difference' in " ".join(
        sorted_page.content.decode().split()
    )
    assert "sort=" not in sorted_page.context["difference_address"]
    pinned = ada_client.get(address(*trio, pin=f"{trio[2].uid}@500"))
    assert "Largest differences from column C" in pinned.content.decode()


def test_difference_link_is_absent_with_one_column(ada_client, trio):
    assert "Largest differences" not in ada_client.get(address(trio[0])).content.decode()
