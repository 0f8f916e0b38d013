"""A field of a tournament: voters see the lengths of responses."""

from benchmarks.change_cost.recipe import Create, Edit, Recipe

MIGRATION = '''from django.db import migrations, models


class Migration(migrations.Migration):
    """Tournaments may show the lengths of responses to voters."""

    dependencies = [
        ("judging", "0014_settings_with_their_texts"),
    ]

    operations = [
        migrations.AddField(
            model_name="tournament",
            name="show_lengths",
            field=models.BooleanField(
                default=False, help_text="In characters.", verbose_name="Show voters the lengths of responses"
            ),
        ),
    ]
'''

TEST = '''"""Lengths of responses: a tournament's field in its form, the API, its export and the voting page."""

import json
import re

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from esweb.api import api
from judging.judges import create_standard_rubrics
from judging.models import Rubric, Tournament
from runs.models import Experiment
from tests.judging.tournament_factory import answered_runs
from tests.runs.api_client import calls

pytestmark = pytest.mark.django_db


@pytest.fixture
def uids(experiment: Experiment) -> list[str]:
    return [run.uid for run in answered_runs(experiment, {"short": ["four"], "long": ["nineteen characters"]})]


def test_form_creates_a_tournament_that_shows_lengths(ada_client: Client, uids: list[str]) -> None:
    create_standard_rubrics()
    page = ada_client.get(reverse("tournament-new")).content.decode()
    assert re.search('<input type="checkbox" name="show_lengths"', page)
    assert "Show voters the lengths of responses" in page and "In characters." in page
    sent = {
        "name": "Short?", "prompts": 1, "seed": 0, "overlap": 1, "gold_every": 15, "show_lengths": "on",
        "criteria": [Rubric.objects.all()[0].pk], "contestant": [f"{uid}:0:eval" for uid in uids],
    }
    assert ada_client.post(reverse("tournament-new"), sent).status_code == 302

    tournament = Tournament.objects.get()
    voting = ada_client.get(reverse("vote", args=[tournament.pk])).content.decode()
    assert "4 characters" in voting and "19 characters" in voting
    setup = ada_client.get(reverse("tournament-file", args=[tournament.pk, "setup"])).json()
    assert setup["show_lengths"] is True


def test_api_creates_a_tournament_that_hides_lengths_by_default(ada: User, ada_client: Client, uids: list[str]) -> None:
    new = {"name": "Short?", "contestants": [{"run": uid, "step": 0} for uid in uids], "criteria": ["helpfulness"]}
    shown = {}
    for options in ({}, {"show_lengths": True}):
        body = json.dumps(new | {"prompts": 1} | options)
        reply = calls(ada).post("/api/v1/tournaments", body, content_type="application/json").json()
        page = ada_client.get(reverse("vote", args=[reply["id"]])).content.decode()
        shown[reply["show_lengths"]] = "4 characters" in page
    assert shown == {False: False, True: True}
    schemas = api.get_openapi_schema()["components"]["schemas"]
    description = "Show voters the lengths of responses. In characters."
    field = {"title": "Show Lengths", "type": "boolean", "default": False, "description": description}
    assert schemas["NewTournament"]["properties"]["show_lengths"] == field
    assert "show_lengths" in schemas["TournamentDetail"]["required"]


def test_migration_is_whole() -> None:
    call_command("makemigrations", "judging", "--check", "--dry-run", verbosity=0)
'''


def _heading(number: int, side: str) -> Edit:
    old = f'      <h3>{{% translate "Response {number}" %}}</h3>\n'
    count = (
        f"{{% blocktranslate count n=pair.{side}|length %}}{{{{ n }}}} character{{% plural %}}{{{{ n }}}} characters"
    )
    shown = f'{{% if tournament.show_lengths %}}<p class="quiet">{count}{{% endblocktranslate %}}</p>{{% endif %}}'
    return Edit("templates/judging/voting/turns.html", old, f"{old}      {shown}\n")


RECIPE = Recipe(
    title="a tournament field",
    name="show_lengths =",
    before="10 files",
    goal=4,
    steps=(
        Edit(
            "judging/models/tournament_settings.py",
            "    is_private = models.BooleanField(",
            '    show_lengths = models.BooleanField(\n'
            '        _("Show voters the lengths of responses"), default=False, help_text=_("In characters.")\n'
            "    )\n"
            "    is_private = models.BooleanField(",
        ),
        _heading(1, "left"),
        _heading(2, "right"),
        Create("judging/migrations/0015_shown_lengths.py", MIGRATION),
        Create("tests/judging/tournaments/test_shown_lengths.py", TEST),
    ),
    tests=("tests/judging/tournaments/test_shown_lengths.py", "tests/judging/voting/test_pages.py"),
)  # fmt: skip
