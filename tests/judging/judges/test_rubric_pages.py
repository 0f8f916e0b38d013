"""Criteria and the versions of their rubrics."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from judging.judges import create_standard_rubrics, newest_rubrics
from judging.judges.rubrics import MAX_COMPARED_LINES, STANDARD, changes
from judging.models import Criterion, Rubric
from tests.cases import each_case

pytestmark = pytest.mark.django_db
WORDS = {"question": "Which is more polite?", "text": "Says please.\nSays thanks.", "scale_low": 1, "scale_high": 5}


def test_standard_criteria_are_created_once(ada_client: Client) -> None:
    for _ in range(2):
        page = ada_client.get(reverse("criteria")).content.decode()

    assert all(slug in page for slug in STANDARD)
    assert Rubric.objects.count() == len(STANDARD)


def test_standard_criteria_are_listed_before_those_of_users(ada: User, ada_client: Client) -> None:
    ada_client.post(reverse("criteria"), WORDS | {"name": "A first name"})
    slugs = [rubric.criterion.slug for rubric in newest_rubrics(ada)]
    assert slugs == [*sorted(STANDARD), "a-first-name"]
    page = ada_client.get(reverse("criteria")).content.decode()
    addresses = [page.index(f'href="{reverse("criterion", args=[slug])}"') for slug in slugs]
    assert addresses == sorted(addresses)


def test_user_creates_criterion_and_new_version(ada_client: Client) -> None:
    created = ada_client.post(reverse("criteria"), WORDS | {"name": "Politeness"})
    assert created["Location"] == reverse("criterion", args=["politeness"])

    again = ada_client.post(created["Location"], WORDS, follow=True).content.decode()
    assert "politeness v1 has this text already" in again
    ada_client.post(created["Location"], WORDS | {"text": "Says please.\nNever shouts."})

    page = ada_client.get(reverse("rubric", args=["politeness", 2])).content.decode()
    assert "Never shouts.</ins>" in page and "Says thanks.</del>" in page and "<p>Says please.</p>" in page
    assert Rubric.objects.get(criterion__slug="politeness", version=1).text == WORDS["text"]


@each_case(
    "before, after, lines",
    [
        ("a\nb", "a\nb", " a| b"),
        ("a\nb\nc", "a\nB\nc", " a|-b|+B| c"),
        ("a\nb\nc\nd", "a\nB\nC\nd", " a|-b|+B|-c|+C| d"),
        ("a\nb\nc", "b\nc\nd", "-a| b| c|+d"),
        ("a\na\na", "a\na", " a| a|-a"),
        ("a\nb\nx\ny", "b\na\nx\nz\ny", "+b| a|-b| x|+z| y"),
        ("a", "b\nc\nd", "-a|+b|+c|+d"),
    ],
)
def test_changes_are_the_fewest_lines(before: str, after: str, lines: str) -> None:
    result = changes(*(Rubric(question="q", text=text, scale_low=1, scale_high=5) for text in (before, after)))
    assert "|".join((line.sign or " ") + line.text for line in result) == f" q|{lines}| Scores from 1 to 5"


def test_changes_of_very_many_lines_are_shown_as_a_replacement() -> None:
    old, new = ([f"{name}{n}" for n in range(MAX_COMPARED_LINES + 1)] for name in "ab")
    texts = ("\n".join(["start", *lines, "end"]) for lines in (old, new))
    result = changes(*(Rubric(question="q", text=text, scale_low=1, scale_high=5) for text in texts))
    signs = [line.sign for line in result]
    assert signs == ["", "", *["-"] * len(old), *["+"] * len(new), "", ""]


@each_case(
    ("changes", "words"),
    [
        ({"name": "helpfulness"}, "A criterion named helpfulness already exists"),
        ({"name": "!!"}, "The name must contain a letter or a digit"),
        ({"scale_high": 1}, "The highest score must be above the lowest"),
        ({"text": ""}, "This field is required"),
        ({"text": "x" * 20_001}, "at most 20000 characters (it has 20001)"),
    ],
)
def test_invalid_criterion_is_refused_at_its_field(ada_client: Client, changes: dict[str, object], words: str) -> None:
    create_standard_rubrics()

    answer = ada_client.post(reverse("criteria"), WORDS | {"name": "new"} | changes)

    assert answer.status_code == 400
    assert words in answer.content.decode()


def test_other_users_cannot_change_or_see_private_criterion(cy_client: Client, ada: User, ada_client: Client) -> None:
    ada_client.post(reverse("criteria"), WORDS | {"name": "open"})
    ada_client.post(reverse("criteria"), WORDS | {"name": "secret", "is_private": "on"})

    assert cy_client.post(reverse("criterion", args=["open"]), WORDS).status_code == 403
    assert cy_client.post(reverse("criterion", args=["helpfulness"]), WORDS).status_code == 403
    for address in (reverse("criterion", args=["secret"]), reverse("rubric", args=["secret", 1])):
        assert cy_client.get(address).status_code == 404
    assert "secret" not in cy_client.get(reverse("criteria")).content.decode()
    assert Criterion.objects.get(slug="secret").owner == ada


def test_saving_unchanged_text_of_a_browser_creates_no_version(ada_client: Client, ada: User) -> None:
    criterion = ada_client.post(reverse("criteria"), WORDS | {"name": "politeness", "text": "One.\r\nTwo."})["Location"]
    assert Rubric.objects.get(criterion__slug="politeness").text == "One.\nTwo."
    ada_client.post(criterion, WORDS | {"text": "One.\r\nTwo."})
    ada_client.post(criterion, WORDS | {"text": "One.\nTwo."})
    old = Criterion.objects.create(slug="old", owner=ada)
    Rubric.objects.create(criterion=old, version=1, **(WORDS | {"text": "One.\r\nTwo."}))
    ada_client.post(reverse("criterion", args=["old"]), WORDS | {"text": "One.\r\nTwo."})
    assert Rubric.objects.filter(criterion__owner=ada).count() == 2
