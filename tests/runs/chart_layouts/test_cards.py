"""Text form of chart layouts: what is written is read again, and invalid texts are reported."""

from __future__ import annotations

import re

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from runs.chart_layouts import Card, own_card, parse_cards, query_with, to_text
from runs.chart_layouts.cards import MAX_CARDS, MAX_CHARACTERS, SIZES, parse_card
from runs.charts.own import InvalidChart, OwnChart, make_own, parse_own
from tests.cases import each_case

KEYS = st.text(
    st.characters(exclude_characters="\x00", exclude_categories=["Cs"]) | st.sampled_from("%:,~=+& /"),
    min_size=1, max_size=30,
)  # fmt: skip
OWN_CHARTS = st.builds(
    lambda keys, against, title: make_own(keys, against, title),
    st.lists(KEYS, min_size=1, max_size=4), st.just("") | KEYS, st.just("") | KEYS,
)  # fmt: skip
SETTINGS = st.tuples(st.sampled_from(("", *SIZES)), st.booleans(), st.none() | st.integers(1, 9999))
CARDS = st.builds(
    lambda chart, settings: Card(
        chart.name if isinstance(chart, OwnChart) else chart, *settings, chart if isinstance(chart, OwnChart) else None
    ),
    KEYS | st.just("own") | OWN_CHARTS, SETTINGS.filter(any),
)  # fmt: skip


@given(OWN_CHARTS)
def test_name_of_own_chart_is_read_again(chart: OwnChart) -> None:
    assert parse_own(chart.name) == chart


@given(st.lists(CARDS, max_size=8, unique_by=lambda card: card.code))
def test_cards_survive_the_query_of_an_address(cards: list[Card]) -> None:
    text = to_text(query_with(QueryDict("q=kl%3C1"), cards))
    query = QueryDict(text)
    assert query["q"] == "kl<1"
    assert parse_cards(query.getlist("charts")) == (tuple(cards), ())


@given(st.text(max_size=80) | st.text("own:,~=%at1pinedw", max_size=40))
def test_any_text_is_read_or_reported(text: str) -> None:
    cards, problems = parse_cards([text])
    assert len(cards) + len(problems) == bool(text)
    for card in cards:
        assert parse_card(card.text) == card


@each_case(
    ("text", "card"),
    [
        ("kl:wide:pinned", Card("kl", "wide", is_pinned=True)),
        ("reward:at3", Card("reward", position=3)),
        ("%6Fwn:wide", Card("own", "wide")),
        ("own%3Akl:small", Card("own:kl", "small")),
        ("own:reward/mean,kl/k3", own_card(OwnChart(("reward/mean", "kl/k3")))),
        ("own:reward/mean~kl=Trade-off", own_card(OwnChart(("reward/mean",), "kl", "Trade-off"))),
        ("own:a%2Cb%7E:small", Card("own:a%2Cb%7E", "small", own=OwnChart(("a,b~",)))),
    ],
)
def test_text_form_is_readable(text: str, card: Card) -> None:
    assert parse_card(text) == card
    assert card.text == text


@each_case(
    ("text", "message"),
    [
        ("kl", "kl must be followed by :small, :medium, :wide, :pinned, or :at1"),
        ("kl:huge", "'huge' is not a setting of a chart; write :small, :medium, :wide, :pinned, or :at1"),
        ("kl:at0", "'at0' is not a setting"),
        (":wide", "1 to 200 characters"),
        ("%00:wide", "none of them NUL"),
        ("own:", "A key must have 1 to 200 characters, not 0"),
        ("own:a,,b", "A key must have 1 to 200 characters, not 0"),
        ("own:a,b,c,d,e", "A chart must have 1 to 4 keys"),
        (f"own:{'k' * 201}", "1 to 200 characters, not 201"),
        ("own:kl~", "A key must follow ~"),
        (f"own:kl={'t' * 201}", "A title may have at most 200 characters"),
        ("own:a%00b", "must not contain the character NUL"),
    ],
)
def test_invalid_text_is_reported_with_the_valid_choices(text: str, message: str) -> None:
    with pytest.raises(InvalidChart, match=re.escape(message)) as caught:
        parse_card(text)
    assert parse_cards([text])[1] == (f"charts: {caught.value}",)


def test_layout_is_bounded() -> None:
    cards, problems = parse_cards([f"k{n}:wide" for n in range(MAX_CARDS + 1)])
    assert len(cards) == MAX_CARDS
    assert problems == (
        f"charts: at most {MAX_CARDS} charts with {MAX_CHARACTERS} characters; the others are ignored.",
    )
    long_cards, problems = parse_cards([f"{n:0>190}:wide" for n in range(40)])
    assert sum(len(card.text) + 1 for card in long_cards) <= MAX_CHARACTERS
    assert len(problems) == 1


def test_chart_listed_twice_is_reported_and_keeps_its_first_entry() -> None:
    cards, problems = parse_cards(["kl:wide", "kl:small"])
    assert [card.size for card in cards] == ["wide"]
    assert problems == ("charts: kl is listed twice; the first entry applies.",)


def test_empty_text_selects_the_default_without_a_problem() -> None:
    assert parse_cards([""]) == ((), ())


def test_own_chart_names_each_key_once() -> None:
    chart = make_own(["kl", "kl", "reward"], "kl")
    assert chart.keys == ("kl", "reward")
    assert chart.all_keys == ("kl", "reward")
    assert chart.heading == "kl, reward against kl"
