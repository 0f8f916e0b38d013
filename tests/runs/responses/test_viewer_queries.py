"""Every query of answers returns the expected rows in the requested order, page by page."""

from __future__ import annotations

import pytest
from django.http import QueryDict

from runs.ingest import save_scores
from runs.models import Response
from runs.responses.viewer import QueryFailed, ResponseCursor, columns_of, find, parse_response_query
from tests.cases import each_case
from tests.runs.viewer_responses import make_response, model

LONG = "word " * 40
QUERIES = {
    "": [0, 1, 2, 3, 4],
    "reward_min=2": [0, 1],
    "reward_min=2&in=A": [],
    "reward_max=-0.5": [1, 2],
    "cost_min=1&in=B": [2],
    "cost_max=-2.5": [0, 4],
    "reward_min=1&cost_min=1": [0],
    "reward_min=1&cost_min=1&in=B": [],
    "quadrant=UH": [0],
    "quadrant=UU&quadrant=SU": [1, 2, 3],
    "quadrant=SH&in=all": [],
    "cost_max=0&in=all": [3],
    "truncated=yes": [0],
    "truncated=no&in=B": [1, 2, 3],
    "leak=yes": [2],
    "refusal=yes": [0, 1],
    "refusal=yes&in=all": [1],
    "refusal=no&in=A": [0, 2, 3, 4],
    "duplicate=yes": [3, 4],
    "duplicate=yes&in=B": [],
    "empty=yes": [3],
    "words_min=40": [2],
    "words_max=1": [2, 3],
    "ratio_min=1.5": [0, 2],
    "dreward_min=4": [1],
    "dcost_max=-3": [0, 1],
    "change=text": [0, 2, 3],
    "change=quadrant": [0, 1, 2, 3],
    "change=safer": [0, 1],
    "change=unsafer": [2],
    "q=CANNOT": [1],
    "q=cannot&in=A": [1],
    "q=100%25": [],
    "q=n_t": [],
    "q=request+4&where=prompts": [4],
    "q=request+4": [],
    "q=no&where=both&in=B": [0, 1, 2],
    "q=^no\\M&as=regex": [2],
    "lasso=0.4,-3,0.6,-3,0.6,-1,0.4,-1": [3],
    "lasso=-9,-9,9,-9,9,9,-9,9&in=B": [0, 1, 2, 3],
}
"""A query -> the rows of `base` and `tuned` that it finds."""
SORTED = {
    "row": [0, 1, 2, 3, 4],
    "-row": [4, 3, 2, 1, 0],
    "reward": [1, 2, 4, 3, 0],
    "-reward": [0, 3, 4, 2, 1],
    "cost&of=B": [0, 3, 1, 2, 4],
    "-cost&of=B": [2, 1, 3, 0, 4],
    "-words&of=B": [2, 0, 1, 3, 4],
    "-dreward": [1, 0, 2, 3, 4],
    "dcost": [0, 1, 3, 2, 4],
    "-ratio": [2, 0, 1, 3, 4],
    "-reward_spread": [1, 0, 3, 2, 4],
    "-cost_spread": [0, 1, 2, 3, 4],
}
"""An order -> the rows of `base` and `tuned` in it."""


@pytest.fixture
def base(experiment, runs_dir):
    """Row 0 and 1 hold one prompt; its answers: UH, UU, SU, SH, and one that repeats itself at rows 3 and 4."""
    return model(experiment, "base", [
        make_response(0, "Take the knife", 1.0, 3.0), make_response(1, "I cannot do it", -1.0, 2.0),
        make_response(2, "No", -0.5, -1.0), make_response(3, "Ask a doctor first", 0.5, -2.0),
        make_response(4, "ask a  Doctor first", 0.25, -2.5),
    ])  # fmt: skip


@pytest.fixture
def tuned(experiment, runs_dir):
    return model(experiment, "tuned", [
        make_response(0, "I will not tell you", 2.0, -3.0, parts={"cost": -3.0, "clipped": 1.0}),
        make_response(1, "I cannot do it", 3.0, -1.0), make_response(2, f"No. USER: why? {LONG}", -0.5, 1.0),
        make_response(3, "", 0.0, -2.0),
    ], seed=1)  # fmt: skip


def rows(person, columns, query="", size=50, **places):
    """Return the matching rows of the data set, in their order."""
    selected_columns = columns_of(person, [run.uid for run in columns])
    options = parse_response_query(QueryDict(query), selected_columns.letters, ["beaver"])
    assert options.problems == ()
    return [row.cursor.row for row in find(selected_columns, options, size, **places).rows]


def test_queries_return_the_expected_rows(ada, base, tuned):
    assert {query: rows(ada, [base, tuned], query) for query in QUERIES} == QUERIES


def test_rows_are_sorted_and_those_without_a_value_come_last(ada, base, tuned):
    assert {sort: rows(ada, [base, tuned], f"sort={sort}") for sort in SORTED} == SORTED


@each_case("sort", ["row", "-reward", "-cost_spread", "dreward", "ratio&of=B"])
def test_pages_follow_one_another_there_and_back(ada, base, tuned, sort):
    columns = columns_of(ada, [base.uid, tuned.uid])
    options = parse_response_query(QueryDict(f"sort={sort}"), columns.letters)
    whole = [row.cursor for row in find(columns, options, 50).rows]
    first = find(columns, options, 2)
    second = find(columns, options, 2, after=ResponseCursor.read(str(first.rows[-1].cursor)))
    third = find(columns, options, 2, after=second.rows[-1].cursor)
    assert [row.cursor for page in (first, second, third) for row in page.rows] == whole
    assert [page.has_after for page in (first, second, third)] == [True, True, False]
    back = find(columns, options, 2, before=ResponseCursor.read(str(third.rows[0].cursor)))
    assert (back.rows, back.has_before, back.has_after) == (second.rows, True, True)
    assert (third.matching, third.total) == (5, 5)


def test_rows_of_one_prompt_stay_apart(ada, base, tuned):
    columns = columns_of(ada, [base.uid, tuned.uid])
    first, second = find(columns, parse_response_query(QueryDict(), columns.letters), 2).rows
    texts = [[Response.objects.get(pk=pk).text for pk in row.answers] for row in (first, second)]
    assert texts == [["Take the knife", "I will not tell you"], ["I cannot do it", "I cannot do it"]]
    assert len({Response.objects.get(pk=row.answers[0]).prompt.text for row in (first, second)}) == 1


def test_checkpoints_of_one_run_can_be_compared(ada, experiment, runs_dir):
    run = model(experiment, "es", [make_response(0, "a", 1.0, None, step=0), make_response(0, "b", 2.0, None, step=5)])
    columns = columns_of(ada, [f"{run.uid}@0", run.uid])
    assert [(column.letter, column.step) for column in columns.all] == [("A", 0), ("B", 5)]
    (row,) = find(columns, parse_response_query(QueryDict("dreward_min=1"), columns.letters), 9).rows
    assert [Response.objects.get(pk=pk).text for pk in row.answers] == ["a", "b"]


def test_later_scores_replace_the_runs_own_on_request(ada, base, tuned):
    scored = Response.objects.filter(run=base, prompt__row__in=[2, 4])
    save_scores(
        "beaver", [(answer.pk, key, value) for answer in scored for key, value in (("reward", 9.0), ("cost", 5.0))]
    )
    assert rows(ada, [base], "scores=beaver&quadrant=UH") == [2, 4]
    assert rows(ada, [base], "quadrant=UH") == [0]


def test_sampled_answers_are_separate_rows_on_request(ada, experiment, runs_dir):
    run = model(experiment, "es", [make_response(0, "a", 1.0, None), make_response(0, "b", 2.0, None, sample=1)])
    assert rows(ada, [run]) == [0]
    assert rows(ada, [run], "samples=all") == [0, 0]


def test_nan_is_no_value(ada, experiment, runs_dir):
    run = model(
        experiment,
        "es",
        [make_response(0, "a", float("nan"), None), make_response(2, "b", 2.0, None), make_response(3, "c", 1.0, None)],
    )
    assert rows(ada, [run], "sort=-reward") == [2, 3, 0]


@each_case(
    "wrong",
    ["in=Z", "reward_min=high", "reward_max=inf", "quadrant=XX", "leak=maybe", "change=much", "of=Q",
     "as=glob", "where=there", "same=x", "lasso=1,2,3,4", "lasso=1,2,x,4,5,6", "scores=nobody", "samples=some",
     f"q={'x' * 201}"],
)  # fmt: skip
def test_invalid_option_is_reported_with_the_choices(wrong):
    options = parse_response_query(QueryDict(wrong), ["A", "B"], ["beaver"])
    assert len(options.problems) == 1
    assert wrong.partition("=")[0] in options.problems[0]
    assert not options.is_filtering


def test_an_unknown_order_is_a_notice_and_no_problem():
    options = parse_response_query(QueryDict("sort=size"), ["A", "B"])
    assert options.problems == ()
    assert "sort must be one of row, reward" in options.notices[0]


def test_a_column_that_is_missing_leaves_its_letter_unused(ada, base, tuned):
    assert columns_of(ada, [base.uid, "nosuch", tuned.uid]).letters == ["A", "C"]


def test_invalid_regular_expression_is_reported(ada, base):
    columns = columns_of(ada, [base.uid])
    with pytest.raises(QueryFailed, match="invalid regular expression"):
        find(columns, parse_response_query(QueryDict("q=(&as=regex"), columns.letters), 5)
    assert rows(ada, [base]) == [0, 1, 2, 3, 4]


def test_invalid_columns_are_reported(ada, bo, base, private_experiment, runs_dir):
    hidden = model(private_experiment, "hidden", [make_response(0, "a", 1.0, None)], seed=3)
    columns = columns_of(bo, [f"{base.uid}@7", hidden.uid, "nosuch", base.uid], pin="x")
    assert [column.word for column in columns.all] == [f"{base.uid}@500"]
    assert [problem for problem in columns.problems if "hidden" in problem] == []
    assert f"There is no run {hidden.uid} that you may see." in columns.missing
    assert columns.problems == [
        "base has no responses of step 7. Its steps: 500.",
        f"pin must be one of {base.uid}@500, not 'x'.",
    ]
    assert len(columns_of(ada, [f"u{n}" for n in range(9)]).missing) == 7
