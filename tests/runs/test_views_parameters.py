import pytest
from django.urls import reverse

from tests.runs.pages import a_bit_of_everything, make_run, record

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("part", "query"),
    [("experiment-runs", "col=nosuch"), ("experiment-runs", "sort=nosuch")],
)
def test_what_is_wrong_with_the_address_of_a_part_is_not_said_on_the_next_page(ada_client, experiment, part, query):
    address = reverse(part, args=[experiment.pk])
    assert ada_client.get(f"{address}?{query}", headers={"Accept": "*/*"}).status_code == 200
    assert "nosuch" not in ada_client.get(reverse("experiments")).content.decode()


def test_what_is_wrong_with_the_address_of_a_page_is_said_on_it(ada_client, experiment):
    page = ada_client.get(f"{experiment.get_absolute_url()}?col=nosuch", headers={"Accept": "text/html,*/*"})
    assert "There is no &#x27;nosuch&#x27; here." in page.content.decode()


CHOICES = {
    "experiment-chart": ("name", "must be one of reward, kl, accuracy, tradeoff"),
    "run-chart": ("name", "must be one of population"),
    "run-log": ("log_attempt", "must be one of 1"),
    "run-responses": ("step", "must be one of 0, 5"),
    "experiment-lambda-chart": ("name", "must be one of"),
    "run-collapse-chart": ("name", "must be one of"),
}


@pytest.mark.parametrize("route", CHOICES)
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
