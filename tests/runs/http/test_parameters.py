import pytest
from django.urls import reverse

from tests.cases import each_case
from tests.runs.full_runs import a_bit_of_everything, make_run, record

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("part", "query"),
    [("experiment-runs", "col=nosuch"), ("experiment-runs", "sort=nosuch")],
)
def test_invalid_parameter_of_a_part_is_not_reported_on_the_next_page(ada_client, experiment, part, query):
    address = reverse(part, args=[experiment.pk])
    assert ada_client.get(f"{address}?{query}", headers={"Accept": "*/*"}).status_code == 200
    assert "nosuch" not in ada_client.get(reverse("experiments")).content.decode()


def test_invalid_parameter_is_reported_on_its_page(ada_client, experiment):
    page = ada_client.get(f"{experiment.get_absolute_url()}?col=nosuch", headers={"Accept": "text/html,*/*"})
    assert "Unknown key &#x27;nosuch&#x27;." in page.content.decode()


CHOICES = {
    "experiment-chart": ("name", "must be one of reward, kl, right, accuracy, "),
    "run-chart": ("name", "must be one of population"),
    "run-log": ("log_attempt", "must be one of 1"),
    "run-responses": ("step", "must be one of 0, 5"),
    "experiment-lambda-chart": ("name", "must be one of"),
    "run-collapse-chart": ("name", "must be one of"),
}


@each_case("route", CHOICES)
def test_data_that_there_is_not_is_answered_with_the_choices(ada_client, experiment, route):
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    name, words = CHOICES[route]
    args = [experiment.pk if route.startswith("experiment") else run.uid]
    answer = ada_client.get(
        reverse(route, args=args), {name: "nonsense", "run": run.uid}, headers={"HX-Request": "true"}
    )
    assert answer.status_code == 404
    assert f"{name} {words}" in answer.content.decode()


def test_invalid_query_shows_an_empty_table(ada_client, experiment):
    make_run(experiment)
    page = ada_client.get(experiment.get_absolute_url(), {"q": "nosuch:1"})
    assert page.status_code == 200
    assert page.context["table"].rows == []
    assert 'id="runs-q-problems"' in page.content.decode()
    for query in ({"q": "nosuch:1"}, {"q": "state:"}, {"q": "state:failed", "group": "nosuch"}):
        for form in ("csv", "words"):
            chart = reverse("experiment-chart", args=[experiment.pk])
            assert ada_client.get(chart, {"name": "reward", "as": form, **query}).status_code == 404


@each_case("route", ["experiment", "experiment-runs", "experiment-chart"])
@each_case("value", ["nosuch", "tag"])
def test_unknown_group_returns_404_instead_of_single_runs(ada_client, experiment, route, value):
    make_run(experiment)
    answer = ada_client.get(reverse(route, args=[experiment.pk]), {"group": value, "name": "reward"})
    assert answer.status_code == 404
    assert f"not &#x27;{value}&#x27;" in answer.content.decode()
    assert "group must be one of " in answer.content.decode()


def test_too_many_groups_return_404(ada_client, experiment):
    query = {"group": ["recipe", "state", "seed", "method", "preset"]}
    answer = ada_client.get(experiment.get_absolute_url(), query)
    assert answer.status_code == 404
    assert "group takes at most 4 keys, not 5." in answer.content.decode()


LOOKS = {"x": "years", "y": "round", "sort": "nosuch", "col": "nosuch", "after": "nosuch"}


@each_case("name", LOOKS)
def test_file_has_no_place_for_a_notice_about_its_looks(ada_client, experiment, name):
    record(make_run(experiment), a_bit_of_everything())
    chart = reverse("experiment-chart", args=[experiment.pk])
    query = {"name": "reward", name: LOOKS[name]}
    assert ada_client.get(chart, query).status_code == 200
    assert ada_client.get(chart, {**query, "as": "csv"}).status_code == 404
