"""Voting as people do it: by keys alone, on a phone, with a connection that comes and goes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Error, Page, Route, expect

from judging import tournaments
from judging.judges import RubricText, make_standard, next_version
from judging.models import Criterion, Tournament, Turn, Verdict
from judging.voting import invite
from runs.models import Experiment
from tests.browser.axe import find_faults
from tests.browser.conftest import PATIENCE_MS
from tests.browser.page_idle import over_the_edge
from tests.judging.tournament_factory import answered_run, rubric

PAIRS = 18
PHONE = {"width": 390, "height": 844}
NAMES = ("runner", "Dee", "Evelyn")


@pytest.fixture
def tournament(experiment: Experiment, ada: User) -> Tournament:
    """Three contestants on twelve prompts, each pair for two people."""
    runs = [answered_run(experiment, f"runner {k}", [f"answer {k}.{n}" for n in range(12)]) for k in range(3)]
    entries = [tournaments.Entry(run, 0, "eval") for run in runs]
    by = [rubric("helpfulness"), rubric("harmlessness")]
    return tournaments.make(ada, tournaments.Draft("Secret name", entries, by, prompts=12, seed=3, overlap=2))


def shown(page: Page) -> Any:
    """The pair that stands before the voter."""
    return page.locator("article.turn:not([hidden])")


def press(page: Page, keys: str) -> None:
    """Keys, one after another."""
    for key in keys:
        page.keyboard.press(key)


def judge(page: Page, keys: str, pairs: int) -> None:
    """The same keys for so many pairs, each as soon as it stands there."""
    for _ in range(pairs):
        before = shown(page).get_attribute("data-turn")
        press(page, keys)
        expect(page.locator(f"article[data-turn='{before}']")).to_be_hidden()
        expect(shown(page)).to_have_count(1)


def kept(page: Page) -> None:
    """Waits until the server has everything."""
    expect(page.locator("[data-connection]")).to_have_text("Everything is kept.")


def lose_the_answer(route: Route) -> None:
    """The server gets the request, and the browser no answer."""
    # A page that is left ends its requests.
    with suppress(Error):
        route.fetch()
        route.abort()


def sees_no_name(page: Page) -> None:
    """Neither a model's, nor another voter's, nor the tournament's."""
    content = page.content()
    assert [name for name in (*NAMES, "Secret name") if name in content] == []


def opened(browser: Browser, link: str) -> tuple[BrowserContext, Page, list[str]]:
    """A phone on which somebody opens their link, and what its console complains of."""
    context = browser.new_context(viewport=PHONE, has_touch=True)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(link)
    return context, page, said


def choose_back_and_skip(dee: Page) -> None:
    """Judge the first pairs, take choices back, call a pair bad and skip another."""
    judge(dee, "12", 9)
    expect(shown(dee).locator("h2")).to_have_text("Pair 10")
    expect(shown(dee).locator("h2")).to_be_focused()
    press(dee, "0uu")
    expect(shown(dee).locator("h2")).to_have_text("Pair 9")
    judge(dee, "0", 1)
    judge(dee, "0b", 1)
    judge(dee, "s2", 1)
    kept(dee)
    assert Turn.objects.filter(voter__invitation__name="Dee", ended_at__isnull=False).count() == 11


def lose_the_connection(context: BrowserContext, dee: Page) -> None:
    """Judge the other pairs while the connection is lost, and then while one answer of the server is."""
    context.set_offline(True)
    press(dee, "12" * 3)
    expect(dee.locator("[data-connection]")).to_contain_text("No connection: 6 choices wait here")
    assert Turn.objects.filter(voter__invitation__name="Dee", ended_at__isnull=False).count() == 11
    sees_no_name(dee)
    context.set_offline(False)
    kept(dee)
    # What a lost answer leaves behind: the server has it, the browser does not know, and sends it again.
    dee.route("**/choices/", lose_the_answer)
    press(dee, "1")
    expect(dee.locator("[data-connection]")).to_contain_text("No connection: 1 choices wait here")
    dee.unroute_all(behavior="ignoreErrors")
    dee.reload()
    judge(dee, "2", 1)
    judge(dee, "12", PAIRS - 15)
    kept(dee)


def check_verdicts_of_dee() -> None:
    """Each pair has one verdict for each criterion."""
    current = Verdict.objects.current().filter(voter__invitation__name="Dee")
    assert current.count() == 2 * PAIRS
    assert current.filter(outcome="skip").count() == 2
    # All that was ever replaced is what was taken back.
    assert Verdict.objects.filter(replaced_at__isnull=False).count() == 2


def test_pairs_are_judged_by_keys_alone_on_a_phone_through_a_lost_connection(
    browser: Browser, address: str, tournament: Tournament, ada: User
) -> None:
    links = [f"{address}{reverse('vote-link', args=[text])}" for _, text in invite(tournament, ada, ["Dee", "Evelyn"])]
    (context, dee, said), (other, eve, also_said) = (opened(browser, link) for link in links)
    assert over_the_edge(dee, PHONE["width"]) == ""
    assert find_faults(dee) == []
    sees_no_name(dee)
    sees_no_name(eve)
    # The same pair, the other way round.
    first = [shown(page).locator(".answers .said").all_text_contents() for page in (dee, eve)]
    assert first[0] == first[1][::-1]

    choose_back_and_skip(dee)
    lose_the_connection(context, dee)
    check_verdicts_of_dee()
    sees_no_name(dee)
    dee.keyboard.press("w")
    expect(dee.locator("[data-revealed]")).to_contain_text("runner")
    sees_no_name(eve)
    assert (said, also_said) == ([], [])
    dee.goto(f"{address}{reverse('run', args=[tournament.contestants.all()[0].run.uid])}")  # type: ignore[union-attr]
    expect(dee).to_have_url(f"{address}/login/?next=" + dee.url.split("next=")[1])
    context.close()
    other.close()


def test_the_pages_of_judging_fit_and_axe_finds_no_serious_fault(
    signed_in: Page, address: str, tournament: Tournament, ada: User
) -> None:
    make_standard()
    invite(tournament, ada, ["Dee"])
    polite = Criterion.objects.create(slug="polite", owner=ada)
    for text in ("Says please.", "Says please and thanks."):
        next_version(polite, RubricText("Which is more polite?", text), ada)
    signed_in.emulate_media(color_scheme="dark", reduced_motion="reduce")
    signed_in.set_viewport_size(PHONE)  # type: ignore[arg-type]
    here = tournament.get_absolute_url()
    paths = [reverse(name) for name in ("tournaments", "tournament-new", "criteria", "gold-sets")]
    paths += [here, reverse("criterion", args=["polite"]), reverse("rubric", args=["polite", 2])]
    for path in (*paths, reverse("vote", args=[tournament.pk])):
        signed_in.goto(address + path)
        assert find_faults(signed_in) == [], path
        assert over_the_edge(signed_in, PHONE["width"]) == "", path
    signed_in.goto(address + here)
    Turn.objects.filter(voter__user=ada).update(ended_at=timezone.now())
    signed_in.get_by_role("cell", name="8", exact=True).wait_for()
