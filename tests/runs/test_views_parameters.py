import pytest
from django.urls import reverse

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
