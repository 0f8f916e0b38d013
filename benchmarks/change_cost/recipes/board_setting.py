"""A setting of a board: contestants with fewer votes are not rated."""

from benchmarks.change_cost.recipe import Create, Edit, Recipe

TEST = '''"""The least number of votes of a contestant: a setting in a board's form, the API, its URL and its files."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from esweb.api import api
from judging.boards import DEFAULT_SETTINGS, BoardSettings, save_board, tasks
from judging.stats.votes import Outcome
from runs.models import Experiment
from tests.judging.bulk_verdicts import cast
from tests.judging.synthetic_votes import make_game_votes
from tests.judging.tournament_factory import make_tournament, rubric
from tests.runs.api_client import calls

pytestmark = pytest.mark.django_db
A, B = Outcome.A, Outcome.B
GAMES = [(0, 1, A), (0, 1, B), (1, 2, A), (0, 2, B), (0, 3, A), (0, 3, B)]


def test_least_number_of_votes_is_a_setting_everywhere(
    ada: User, ada_client: Client, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament = make_tournament(ada, experiment, prompts=12, contestants=4)
    cast(tournament, rubric("helpfulness"), make_game_votes(tuple("abcd"), *GAMES))
    usual = save_board(tournament, rubric("helpfulness"))
    monkeypatch.setattr(tasks.update_boards, "delay", tasks.update_boards)
    page, address = f"/judging/{tournament.pk}/board/", f"/api/v1/tournaments/{tournament.pk}/board"

    assert "min_votes" not in DEFAULT_SETTINGS.to_json() == usual.asked, "stored boards keep their key"
    assert 'name="min_votes"' in (html := ada_client.get(page).content.decode()) and "Least number of votes" in html
    schemas = api.get_openapi_schema()["components"]["schemas"]
    assert schemas["NewOrder"]["properties"]["min_votes"]["type"] == "integer"
    assert calls(ada).get(f"{address}?min_votes=-1").status_code == 422

    answer = ada_client.post(f"{page}order/", BoardSettings(min_votes=3).to_json())

    assert answer["Location"].endswith("min_votes=3")
    exported = ada_client.get(f"{page}file/?as=json&min_votes=3").json()
    assert exported["asked"] == usual.asked | {"min_votes": 3}
    votes = {row["contestant"]: row["record"]["votes"] for row in exported["report"]["board"]["standings"]}
    assert sorted(votes.values()) == [0, 0, 2, 2], "those of two votes are left out, and so are their opponents' votes"
    body = json.dumps({"min_votes": 3})
    assert calls(ada).post(address, body, content_type="application/json").json()["asked"] == exported["asked"]
'''

RECIPE = Recipe(
    title="a board setting",
    name="min_votes: int",
    before="10 files, 8 listings",
    goal=4,
    steps=(
        Edit(
            "judging/boards/settings.py",
            "    identical: str = setting_field(",
            """    min_votes: int = setting_field(
        0, _("Least number of votes"), _("Contestants with fewer votes are not rated."), bounds=(0, 10_000),
        always_stored=False,
    )  # fmt: skip
    identical: str = setting_field(""",
        ),
        Edit(
            "judging/boards/snapshots.py",
            "np.bool_)))\n    return votes\n",
            """np.bool_)))
    if settings.min_votes:
        counts = np.bincount(np.concatenate([votes.a, votes.b]), minlength=len(votes.contestants))
        is_rated = counts >= settings.min_votes
        votes = votes.select(is_rated[votes.a] & is_rated[votes.b])
    return votes
""",
        ),
        Create("tests/judging/boards/test_least_number_of_votes.py", TEST),
    ),
    tests=("tests/judging/boards/test_least_number_of_votes.py", "tests/judging/boards/test_settings.py"),
)
