"""The settings of a tournament: stated by its model, and the same in the form and in the API."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from judging.models import Tournament
from judging.models.limits import limits
from judging.models.tournament_settings import SECRETS, SETTINGS
from judging.tournaments.forms import TournamentForm
from judging.tournaments.schemas import NewTournament, TournamentDetail

NEW = {"name": "x", "criteria": ["helpfulness"], "contestants": [{"run": "2222222222", "step": 0}] * 2}


def test_settings_have_one_default() -> None:
    tournament, new = Tournament(name="x"), NewTournament(**NEW).dict()
    assert {name: new[name] for name in SETTINGS} == {name: getattr(tournament, name) for name in SETTINGS}
    initial = {name: field.initial for name, field in TournamentForm.base_fields.items() if field.initial is not None}
    assert all(initial[name] == new[name] for name in initial.keys() & set(SETTINGS))
    assert list(TournamentForm.base_fields)[: len(SETTINGS)] == list(SETTINGS)


def test_settings_are_in_every_reply_and_secrets_may_be_null() -> None:
    fields = TournamentDetail.model_fields
    assert set(SETTINGS) <= fields.keys()
    nullable = {name for name in SETTINGS if fields[name].annotation in (int | None, str | None, bool | None)}
    assert nullable == set(SECRETS)


@pytest.mark.parametrize("name", ["overlap", "seed", "gold_every"])
def test_bounds_are_the_same_in_form_and_api(name: str) -> None:
    bounds = limits(Tournament._meta.get_field(name))
    low, high = bounds["min_value"], bounds["max_value"]
    field = TournamentForm.base_fields[name]
    assert (field.min_value, field.max_value) == (low, high)  # type: ignore[attr-defined]
    for value in (low, high):
        assert NewTournament(**NEW | {name: value}).dict()[name] == field.clean(value) == value
    for value in (low - 1, high + 1):
        with pytest.raises(ValidationError, match=f"(?s){name}.*than or equal to"):
            NewTournament(**NEW | {name: value})
