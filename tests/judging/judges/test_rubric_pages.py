"""Criteria and the versions of their words."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from judging.judges import make_standard, newest_rubrics
from judging.judges.rubrics import STANDARD
from judging.models import Criterion, Rubric

pytestmark = pytest.mark.django_db
WORDS = {"question": "Which is more polite?", "text": "Says please.\nSays thanks.", "scale_low": 1, "scale_high": 5}


def test_the_sites_own_criteria_are_there_once(ada_client: Client) -> None:
    for _ in range(2):
        page = ada_client.get(reverse("criteria")).content.decode()

    assert all(slug in page for slug in STANDARD)
    assert Rubric.objects.count() == len(STANDARD)


def test_the_sites_own_criteria_come_before_those_of_people(ada: User, ada_client: Client) -> None:
    ada_client.post(reverse("criteria"), WORDS | {"name": "A first name"})
    slugs = [rubric.criterion.slug for rubric in newest_rubrics(ada)]
    assert slugs == [*sorted(STANDARD), "a-first-name"]
    page = ada_client.get(reverse("criteria")).content.decode()
    addresses = [page.index(f'href="{reverse("criterion", args=[slug])}"') for slug in slugs]
    assert addresses == sorted(addresses)


def test_a_person_makes_a_criterion_and_its_next_version_with_what_changed(ada_client: Client) -> None:
    made = ada_client.post(reverse("criteria"), WORDS | {"name": "Politeness"})
    assert made["Location"] == reverse("criterion", args=["politeness"])

    again = ada_client.post(made["Location"], WORDS, follow=True).content.decode()
    assert "These are the words of politeness v1 already" in again
    ada_client.post(made["Location"], WORDS | {"text": "Says please.\nNever shouts."})

    page = ada_client.get(reverse("rubric", args=["politeness", 2])).content.decode()
    assert "Never shouts.</ins>" in page and "Says thanks.</del>" in page and "<p>Says please.</p>" in page
    assert Rubric.objects.get(criterion__slug="politeness", version=1).text == WORDS["text"]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"name": "helpfulness"}, "There is a criterion called helpfulness already"),
        ({"name": "!!"}, "A name needs a letter or a digit"),
        ({"scale_high": 1}, "The highest score must lie above the lowest"),
        ({"text": ""}, "This field is required"),
    ],
)
def test_words_that_do_not_do_are_refused_at_their_field(
    ada_client: Client, said: dict[str, object], words: str
) -> None:
    make_standard()

    answer = ada_client.post(reverse("criteria"), WORDS | {"name": "new"} | said)

    assert answer.status_code == 400
    assert words in answer.content.decode()


def test_what_is_anothers_is_not_reworded_and_what_is_private_is_not_there(
    cy_client: Client, ada: User, ada_client: Client
) -> None:
    ada_client.post(reverse("criteria"), WORDS | {"name": "open"})
    ada_client.post(reverse("criteria"), WORDS | {"name": "secret", "is_private": "on"})

    assert cy_client.post(reverse("criterion", args=["open"]), WORDS).status_code == 403
    assert cy_client.post(reverse("criterion", args=["helpfulness"]), WORDS).status_code == 403
    for address in (reverse("criterion", args=["secret"]), reverse("rubric", args=["secret", 1])):
        assert cy_client.get(address).status_code == 404
    assert "secret" not in cy_client.get(reverse("criteria")).content.decode()
    assert Criterion.objects.get(slug="secret").owner == ada
