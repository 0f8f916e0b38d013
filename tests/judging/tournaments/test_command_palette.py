"""The command palette goes to tournaments and to judging's pages, as far as one may see them."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs.models import Experiment
from tests.judging.tournament_factory import held

pytestmark = pytest.mark.django_db


def offered(client: Client, words: str = "") -> str:
    return client.get("/palette/", {"q": words}).content.decode()


def test_tournaments_and_pages_of_judging_are_found_by_their_words(
    ada: User, ada_client: Client, experiment: Experiment
) -> None:
    there = held(ada, experiment, prompts=1, contestants=2, name="Which is kinder?").get_absolute_url()
    assert there in offered(ada_client)
    assert there in offered(ada_client, "KINDER which")
    assert there not in offered(ada_client, "which nosuch")
    assert "/judging/judges/" in offered(ada_client, "model judges")
    assert "/judging/gold/" in offered(ada_client, "gold")


def test_a_private_tournament_is_offered_to_nobody_else(
    ada: User, cy_client: Client, ada_client: Client, experiment: Experiment
) -> None:
    there = held(ada, experiment, prompts=1, contestants=2, name="Which?", is_private=True).get_absolute_url()
    assert there in offered(ada_client, "which")
    assert there not in offered(cy_client, "which")
