"""The command palette finds tournaments and pages of judging that the user may see."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs.models import Experiment
from tests.judging.tournament_factory import make_tournament

pytestmark = pytest.mark.django_db


def palette_html(client: Client, words: str = "") -> str:
    return client.get("/palette/", {"q": words}).content.decode()


def test_palette_finds_tournaments_and_judging_pages(ada: User, ada_client: Client, experiment: Experiment) -> None:
    path = make_tournament(ada, experiment, prompts=1, contestants=2, name="Which is kinder?").get_absolute_url()
    assert path in palette_html(ada_client)
    assert path in palette_html(ada_client, "KINDER which")
    assert path not in palette_html(ada_client, "which nosuch")
    assert "/judging/judges/" in palette_html(ada_client, "model judges")
    assert "/judging/gold/" in palette_html(ada_client, "gold")


def test_palette_hides_private_tournament_from_others(
    ada: User, cy_client: Client, ada_client: Client, experiment: Experiment
) -> None:
    path = make_tournament(ada, experiment, prompts=1, contestants=2, name="Which?", is_private=True).get_absolute_url()
    assert path in palette_html(ada_client, "which")
    assert path not in palette_html(cy_client, "which")
