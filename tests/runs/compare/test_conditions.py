import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runs.compare import run_table
from runs.compare.run_table.columns import FIELDS
from runs.models import Run, Series
from tests.cases import each_case
from tests.runs.full_runs import make_run

pytestmark = pytest.mark.django_db


def summary(run, key, last, low=None, high=None):
    """Create a written series without its points, as if they were compacted."""
    Run.objects.filter(pk=run.pk, last_step__lt=5).update(last_step=5)
    Series.objects.create(
        run=run, key=key, points=1, last_step=5, last_value=last, min_value=low or last, max_value=high or last
    )


@pytest.fixture
def four(experiment):
    """es 0 (failed, tag a b), es 1 (kl 0.5), grpo 2 (kl 2, was 9), es 3 (kl NaN)."""
    runs = [
        make_run(experiment, "es-tiny", 0, "failed"),
        make_run(experiment, "es-tiny", 1, "succeeded"),
        make_run(experiment, "grpo-tiny", 2, "running"),
        make_run(experiment, "es-tiny-reckless", 3, "succeeded"),
    ]
    Run.objects.filter(pk=runs[0].pk).update(tags=["a b", "keep"])
    summary(runs[1], "kl", 0.5)
    summary(runs[2], "kl", 2.0, 0.1, 9.0)
    summary(runs[3], "kl", float("nan"))
    return runs


def seeds(experiment, line):
    words = run_table.vocabulary(experiment)
    return sorted(
        run_table.filter_by_terms(experiment.runs.all(), run_table.parse(line), words).values_list("seed", flat=True)
    )


QUERIES = {
    "": [0, 1, 2, 3],
    "state:failed": [0],
    "state:failed,running": [0, 2],
    "-state:failed": [1, 2, 3],
    "method!=es": [2],
    "seed:1..2": [1, 2],
    "seed:0,2..": [0, 2, 3],
    "seed>=2": [2, 3],
    "reckless": [3],
    "-reckless": [0, 1, 2],
    "name~TINY seed<2": [0, 1],
    "preset:es-tiny": [0, 1],
    "by:ada": [0, 1, 2, 3],
    "by:bo": [],
    'tag:"a b"': [0],
    "tag:none": [1, 2, 3],
    "tag~kee": [0],
    "kl<1": [1],
    "kl>1": [2],
    "kl.max>8": [2],
    "kl.min<0.3": [2],
    "kl:0.5": [1],
    "kl:nan": [3],
    "kl:none": [0],
    "kl:any": [1, 2, 3],
    "-kl<1": [0, 2, 3],
    "es.sigma:0.03": [3],
    "es.sigma>0.01": [3],
    "es.sigma:0.001..0.029": [0, 1],
    "es.sigma:none": [2],
    "-es.sigma:any": [2],
    "task.name:conciseness": [0, 1, 2, 3],
    "task.name~CONC": [0, 1, 2, 3],
    "-task.name~conc": [],
    "step:0": [0],
    "step>4": [1, 2, 3],
    "time:0": [0, 1, 2, 3],
    "created>1h": [0, 1, 2, 3],
    "created<yesterday": [],
    "created:2020-01-01..": [0, 1, 2, 3],
    "archived:no": [0, 1, 2, 3],
}
"""A query -> the seeds of the runs of `four` that it finds."""


def test_a_query_finds(four, experiment):
    assert {line: seeds(experiment, line) for line in QUERIES} == QUERIES


def test_archived_runs_match_only_an_explicit_condition(four, experiment):
    Run.objects.filter(pk=four[0].pk).update(archived_at=timezone.now())
    assert seeds(experiment, "") == [1, 2, 3]
    assert seeds(experiment, "archived:yes") == [0]
    assert seeds(experiment, "archived:any state:failed") == [0]


def test_config_values_match_as_number_or_text_only(four, experiment):
    four[0].config["es"]["sigma"] = "0.5"
    four[0].save()
    assert seeds(experiment, "es.sigma>0.4") == []
    assert seeds(experiment, "es.sigma:0.5") == [0]


def test_long_text_matches_only_as_a_whole(four, experiment):
    prompt = "Be brief. " * 30 + "Madrid"
    four[1].config["task"]["options"]["system_prompt"] = prompt
    four[2].config["task"]["options"]["system_prompt"] = prompt + "!"
    for run in four[1:3]:
        run.save()
    key = "task.options.system_prompt"
    assert seeds(experiment, f"{key}~MADRID") == [1, 2]
    assert seeds(experiment, f"{key}~madrid!") == [2]
    assert seeds(experiment, f'{key}:"{prompt}"') == [1]
    assert seeds(experiment, f'-{key}~"be brief"') == [0, 3]


@each_case("line", ["kl<5", "kl>=0.5 kl<100", "kl:0.5..3", "es.sigma>0.01", "es.sigma:0.001..", "-kl<1"])
def test_a_list_that_is_read_from_a_bound_on_is_the_same(four, experiment, line):
    words, terms = run_table.vocabulary(experiment), run_table.parse(line)
    runs = run_table.filter_by_terms(experiment.runs.all(), terms, words)
    for word in ("kl", "-kl", "es.sigma", "-es.sigma"):
        order = run_table.Order(words.column(word.removeprefix("-")), word.startswith("-"))
        bounds = run_table.sort_bounds(terms, order.column, words, run_table.SORTED)
        assert (bounds is not None) == (order.column.key in line and not line.startswith("-")), word
        assert run_table.page(runs, order, None, 9, bounds) == run_table.page(runs, order, None, 9), word


@each_case(
    ("line", "message"),
    [
        ("kll<1", "Unknown key 'kll'. Did you mean kl"),
        ("es.sgima:1", "Did you mean es.sigma"),
        ("state:fail", "state must be one of created, .*failed.*, not 'fail'"),
        ("state:a..b", "not 'a..b'"),
        ("state<failed", "state takes :, not <"),
        ("kl~a", "kl takes : or < or <= or > or >=, not ~"),
        ("name<a", "name takes : or ~, not <"),
        ("name:a..b", "has no range"),
        ("kl<low", "'low' is not a number: write it as"),
        ("seed:nan", "out of range"),
        ("seed:1e400", "out of range"),
        ("seed:..", "at least one end"),
        ("es.sigma:..", "at least one end"),
        ("created>soon", "is not a time: write 2026-11-01"),
        ("created>999999w", "is not a time"),
        ("archived:maybe", "no, yes, any"),
    ],
)
def test_invalid_condition_is_reported_with_the_valid_values(four, experiment, line, message):
    with pytest.raises(run_table.QueryError, match=message) as raised:
        seeds(experiment, f"seed:0 {line}")
    assert raised.value.problems[0].at == len("seed:0 ")


KEYS = [*FIELDS, "kl", "kl.max", "es.sigma", "task.options.x", "nosuch"]
VALUES = st.text(max_size=12) | st.sampled_from(
    ["nan", "inf", "-inf", "1e999", "true", "none", "..", "1..", '"', "%", "\\"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=75, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(run_table.OPERATORS), VALUES), max_size=3), st.booleans()
)
def test_any_query_is_answered_or_refused_with_a_message(four, experiment, text, quote):
    line = " ".join(run_table.format_term(*term) if quote else "".join(term) for term in text)
    try:
        matches = seeds(experiment, line)
    except run_table.QueryError as error:
        assert str(error)
    else:
        assert set(matches) <= {0, 1, 2, 3}
