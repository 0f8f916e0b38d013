"""Voting as voters do it: by keys alone, on a phone, with a connection that is lost at times."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Error, Page, Route, expect

from judging import tournaments
from judging.judges import RubricText, create_standard_rubrics, next_version
from judging.models import Criterion, Tournament, Turn, Verdict
from judging.voting import create_invitations
from runs.models import Experiment
from tests.browser.axe import find_axe_faults
from tests.browser.conftest import PATIENCE_MS
from tests.browser.page_idle import find_overflow
from tests.judging.tournament_factory import answered_run, rubric

PAIRS = 18
PHONE = {"width": 390, "height": 844}
NAMES = ("runner", "Dee", "Evelyn")


@pytest.fixture
def tournament(experiment: Experiment, ada: User) -> Tournament:
    """Return a tournament of three contestants on twelve prompts, each pair for two voters."""
    runs = [answered_run(experiment, f"runner {k}", [f"answer {k}.{n}" for n in range(12)]) for k in range(3)]
    entries = [tournaments.Entry(run, 0, "eval") for run in runs]
    by = [rubric("helpfulness"), rubric("harmlessness")]
    new = Tournament(owner=ada, name="Secret name", seed=3, overlap=2)
    return tournaments.create_tournament(new, entries, by, prompts=12)


def visible_pair(page: Page) -> Any:
    """Return the pair that the voter sees."""
    return page.locator("article.turn:not([hidden])")


def press(page: Page, keys: str) -> None:
    """Press keys, one after another."""
    for key in keys:
        page.keyboard.press(key)


def judge(page: Page, keys: str, pairs: int) -> None:
    """Press the same keys for so many pairs, each as soon as it is visible."""
    for _ in range(pairs):
        before = visible_pair(page).get_attribute("data-turn")
        press(page, keys)
        expect(page.locator(f"article[data-turn='{before}']")).to_be_hidden()
        expect(visible_pair(page)).to_have_count(1)


def wait_until_saved(page: Page) -> None:
    """Wait until the server has all choices."""
    expect(page.locator("[data-connection]")).to_have_text("Saved.")


def lose_response(route: Route) -> None:
    """Send the request to the server and drop its response."""
    # A page that is left ends its requests.
    with suppress(Error):
        route.fetch()
        route.abort()


def check_no_names(page: Page) -> None:
    """Check that the page contains no name: of a model, another voter or the tournament."""
    content = page.content()
    assert [name for name in (*NAMES, "Secret name") if name in content] == []


def open_on_phone(browser: Browser, link: str) -> tuple[BrowserContext, Page, list[str]]:
    """Return a phone on which a voter opens their link, with its context and the errors of its console."""
    context = browser.new_context(viewport=PHONE, has_touch=True)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(link)
    return context, page, errors


def judge_undo_and_skip(dee: Page) -> None:
    """Judge the first pairs, undo choices, call a pair bad and skip another."""
    judge(dee, "12", 9)
    expect(visible_pair(dee).locator("h2")).to_have_text("Pair 10")
    expect(visible_pair(dee).locator("h2")).to_be_focused()
    press(dee, "0uu")
    expect(visible_pair(dee).locator("h2")).to_have_text("Pair 9")
    judge(dee, "0", 1)
    judge(dee, "0b", 1)
    judge(dee, "s2", 1)
    wait_until_saved(dee)
    assert Turn.objects.filter(voter__invitation__name="Dee", ended_at__isnull=False).count() == 11


def judge_while_offline(context: BrowserContext, dee: Page) -> None:
    """Judge the other pairs while the connection is lost, and then while one response of the server is lost."""
    context.set_offline(True)
    press(dee, "12" * 3)
    expect(dee.locator("[data-connection]")).to_contain_text("No connection: 6 choices are saved in this browser")
    assert Turn.objects.filter(voter__invitation__name="Dee", ended_at__isnull=False).count() == 11
    check_no_names(dee)
    context.set_offline(False)
    wait_until_saved(dee)
    # After a lost response the server has the choice, the browser does not know it, and sends it again.
    dee.route("**/choices/", lose_response)
    press(dee, "1")
    expect(dee.locator("[data-connection]")).to_contain_text("No connection: 1 choice is saved in this browser")
    dee.unroute_all(behavior="ignoreErrors")
    dee.reload()
    judge(dee, "2", 1)
    judge(dee, "12", PAIRS - 15)
    wait_until_saved(dee)


def check_verdicts_of_dee() -> None:
    """Each pair has one verdict for each criterion."""
    current = Verdict.objects.current().filter(voter__invitation__name="Dee")
    assert current.count() == 2 * PAIRS
    assert current.filter(outcome="skip").count() == 2
    # Only undone verdicts were ever replaced.
    assert Verdict.objects.filter(replaced_at__isnull=False).count() == 2


def test_voter_judges_pairs_by_keys_despite_lost_connection(
    browser: Browser, address: str, tournament: Tournament, ada: User
) -> None:
    links = [
        f"{address}{reverse('vote-link', args=[text])}"
        for _, text in create_invitations(tournament, ada, ["Dee", "Evelyn"])
    ]
    (context, dee, dee_errors), (eve_context, eve, eve_errors) = (open_on_phone(browser, link) for link in links)
    assert find_overflow(dee, PHONE["width"]) == ""
    assert find_axe_faults(dee) == []
    check_no_names(dee)
    check_no_names(eve)
    # The same pair, the other way round.
    first = [visible_pair(page).locator(".answers .said").all_text_contents() for page in (dee, eve)]
    assert first[0] == first[1][::-1]

    judge_undo_and_skip(dee)
    judge_while_offline(context, dee)
    check_verdicts_of_dee()
    check_no_names(dee)
    dee.keyboard.press("w")
    expect(dee.locator("[data-revealed]")).to_contain_text("runner")
    check_no_names(eve)
    assert (dee_errors, eve_errors) == ([], [])
    dee.goto(f"{address}{reverse('run', args=[tournament.contestants.all()[0].run.uid])}")  # type: ignore[union-attr]
    expect(dee).to_have_url(f"{address}/login/?next=" + dee.url.split("next=")[1])
    context.close()
    eve_context.close()


def test_progress_of_a_tournament_is_shown_without_reload(
    signed_in: Page, address: str, tournament: Tournament, ada: User
) -> None:
    signed_in.goto(address + reverse("vote", args=[tournament.pk]))
    signed_in.goto(address + tournament.get_absolute_url())
    Turn.objects.filter(voter__user=ada).update(ended_at=timezone.now())
    signed_in.get_by_role("cell", name="8", exact=True).wait_for()


@pytest.mark.soak
def test_judging_pages_pass_axe_and_fit(signed_in: Page, address: str, tournament: Tournament, ada: User) -> None:
    create_standard_rubrics()
    create_invitations(tournament, ada, ["Dee"])
    polite = Criterion.objects.create(slug="polite", owner=ada)
    for text in ("Says please.", "Says please and thanks."):
        next_version(polite, RubricText("Which is more polite?", text), ada)
    signed_in.emulate_media(color_scheme="dark", reduced_motion="reduce")
    signed_in.set_viewport_size(PHONE)  # type: ignore[arg-type]
    tournament_path = tournament.get_absolute_url()
    paths = [reverse(name) for name in ("tournaments", "tournament-new", "criteria", "gold-sets")]
    paths += [tournament_path, reverse("criterion", args=["polite"]), reverse("rubric", args=["polite", 2])]
    for path in (*paths, reverse("vote", args=[tournament.pk])):
        signed_in.goto(address + path)
        assert find_axe_faults(signed_in) == [], path
        assert find_overflow(signed_in, PHONE["width"]) == "", path
