"""Every page, without runs and with a crowd of them: it fits its window and the console stays quiet.

It asks the database as often for many runs as for few.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page

from runs.access import Scope, link_text
from runs.models import ApiToken, Experiment, Run, SavedView, Sweep
from runs.service_registry import commands
from runs.service_registry.commands import Registration
from tests import soaking
from tests.browser.page_idle import over_the_edge
from tests.conftest import person
from tests.runs.full_runs import a_bit_of_everything, record
from tests.runs.many_runs import LONG_NAME, TAGS, crowd

WIDTHS = (1440, 390)
FEW, MANY, CROWD = 4, 60, 10_000 if soaking.SECONDS else 1000
"""The crowd is larger than what any page shows at once. `make soak PART=pages` has ten thousand runs."""
GROUPED = "?group=recipe&group=state"
COLUMNS = "?" + "&".join(
    f"col={key}"
    for key in (
        "state", "tag", "note", "created", "by", "recipe", "preset", "model.path", "task.name", "es.sigma", "es.alpha",
        "es.population", "reward/mean.min", "reward/mean.max", "kl.max", "time",
    )
)  # fmt: skip
OWED = {
    "the address of nothing": 404,
    "somebody's private experiment": 404,
    "editing what is another's": 403,
    "people, not for members": 403,
}
"""Pages that are errors on purpose."""


@pytest.fixture
def bo(transactional_db: None) -> User:
    return person("bo")


@pytest.fixture
def place(ada: User, bo: User) -> Experiment:
    """Where the crowd goes; its name is as long as a name may be."""
    return Experiment.objects.create(name=LONG_NAME[:200], question="Why? " * 60, tags=TAGS, owner=ada)


def fill(place: Experiment, count: int, first: int = 0) -> None:
    """`count` runs, the first with records of every kind, and as much of all else as pages list, up to a hundred."""
    runs = crowd(place, count, first)
    for n in range(first, first + min(count, 100)):
        Experiment.objects.create(name=f"Experiment {n}", owner=place.owner)
        Experiment.objects.create(name=f"Thrown {n}", owner=place.owner, deleted_at=timezone.now())
        SavedView.objects.create(owner=place.owner, name=f"View {n}", page="experiment", experiment=place)
        ApiToken.objects.create(user=place.owner, name=f"t{n}", scope="read", digest=f"{n}", expires_at=timezone.now())
        commands.register(
            place.owner, Registration("scorer", f"scorer-{n}", "0123456789", f"http://node{n}:8000", "/health")
        )
        person(f"person {n}")
    if first == 0:
        swept(place, runs[:MANY])
    thrown = crowd(place, min(count, 100), first + 20_000)
    Run.objects.filter(pk__in=[run.pk for run in thrown]).update(deleted_at=timezone.now())
    if first == 0 and runs:
        record(runs[0], a_bit_of_everything())
    with connection.cursor() as cursor:
        # As PostgreSQL does by itself within a minute: without it the planner believes the tables to be empty.
        cursor.execute("ANALYZE")


def swept(place: Experiment, runs: list[Run]) -> None:
    """A sweep of these runs, each of them a cell."""
    values = [n / 1000 for n in range(1, len(runs) + 1)] or [0.1]
    sweep = Sweep.objects.create(
        experiment=place, name=LONG_NAME[:200], base={}, grid={"es.sigma": values}, seeds=[0], at_once=4,
        created_by=place.owner,
    )  # fmt: skip
    for run, value in zip(runs, values, strict=False):
        Run.objects.filter(pk=run.pk).update(sweep=sweep, cell={"es.sigma": value})


def pages(ada: User, bo: User, place: Experiment) -> dict[str, str]:
    """What it shows -> its address. Those of runs only where there are some."""
    here, compare = place.get_absolute_url(), reverse("compare")
    hidden = Experiment.objects.get_or_create(name="Secret", owner=bo, is_private=True)[0]
    theirs = Experiment.objects.get_or_create(name="Bo's", owner=bo)[0]
    out = {
        "home": "/", "home, mine, a week": "/?whose=mine&since=7d", "experiments": reverse("experiments"),
        "experiments, archived": f"{reverse('experiments')}?shelf=archived", "experiment": here,
        "experiment, grouped": here + GROUPED, "experiment, many columns": here + COLUMNS,
        "experiment, nothing fits": f"{here}?q=seed:-1", "experiment, wrong query": f"{here}?q=nosuch:1",
        "experiment, edited": reverse("experiment-edit", args=[place.pk]), "launch": reverse("launch", args=[place.pk]),
        "compare, none": compare, "compare, many": f"{compare}?experiment={place.pk}&show=all",
        "share": f"{reverse('share')}?page=experiment&experiment={place.pk}",
        "shared experiment": reverse("shared", args=[link_text(ada, Scope.EXPERIMENT, [place.pk], "day")]),
        "λ, none": reverse("experiment-lambda", args=[place.pk]),
        "queue": reverse("queue"), "costs": f"{reverse('costs')}?by=experiment&since=all",
        "sweep": place.sweeps.get().get_absolute_url(),
        "services": reverse("services"), "side by side, none": reverse("viewer"),
        "views": reverse("saved-views"), "bin": reverse("bin"), "tokens": reverse("settings-tokens"),
        "password": reverse("settings-password"), "people": reverse("settings-people"),
        "people, not for members": reverse("settings-people"), "API docs": reverse("api-docs"),
        "the address of nothing": "/nosuch/", "somebody's private experiment": hidden.get_absolute_url(),
        "editing what is another's": reverse("experiment-edit", args=[theirs.pk]),
    }  # fmt: skip
    return out | _of_runs(ada, place.runs.order_by("pk"), compare)


def _of_runs(ada: User, runs, compare: str) -> dict[str, str]:
    first, *others = runs.filter(deleted_at__isnull=True)[:2] or [None]
    if first is None:
        return {}
    return {
        "run": first.get_absolute_url(), "run, waiting": others[0].get_absolute_url(),
        "compare, two": f"{compare}?run={first.uid}&run={others[0].uid}",
        "side by side": f"{reverse('viewer')}?run={first.uid}&run={first.uid}@0&diff=pinned&q=a&samples=all",
        "shared run": reverse("shared", args=[link_text(ada, Scope.RUN, [first.uid], "day")]),
        "collapse": reverse("run-collapse", args=[first.uid]), "scores": reverse("run-scores", args=[first.uid]),
        "time machine": f"{reverse('time-machine', args=[first.response_set.first().prompt.word])}?run={first.uid}",
    }  # fmt: skip


def let_in(ada: User, name: str) -> None:
    """Ada is a member like most; people are looked after by an administrator."""
    User.objects.filter(pk=ada.pk).update(is_superuser=name == "people")


def test_a_page_without_runs_fits_its_window_and_the_console_stays_quiet(
    signed_in, address, complaints, ada, bo, place
):
    fill(place, 0)
    look_at_every_page(signed_in, address, pages(ada, bo, place), complaints, ada)


def test_for_a_crowd_of_runs_a_page_asks_as_often_as_for_a_few_and_fits_as_well(
    signed_in, address, complaints, ada, bo, place, monkeypatch
):
    # A table that finds more than so many does not name them in later queries.
    monkeypatch.setattr("runs.compare.run_table.queries.FEW", CROWD // 2)
    asked: dict[str, list[int]] = {}
    client = Client()
    client.force_login(ada)
    for count, first in ((FEW, 0), (MANY - FEW, FEW), (CROWD - MANY, MANY)):
        fill(place, count, first)
        for name, path in pages(ada, bo, place).items():
            let_in(ada, name)
            with CaptureQueriesContext(connection) as queries:
                assert client.get(path).status_code == OWED.get(name, 200), name
            asked.setdefault(name, []).append(len(queries))
    # One more, however many there are: a table that has more than a page of runs counts them.
    assert {
        name: counts for name, counts in asked.items() if len(set(counts[:2])) > 1 or counts[2] > counts[0] + 1
    } == {}
    look_at_every_page(signed_in, address, pages(ada, bo, place), complaints, ada)


def look_at_every_page(page: Page, site: str, paths: dict[str, str], complaints: list[str], ada: User) -> None:
    """Open each page, at last the one for who is not signed in. None may be too wide or have the console complain."""
    wide: list[str] = []
    for name, path in paths.items():
        let_in(ada, name)
        assert page.goto(site + path).status == OWED.get(name, 200), name
        wide += [f"{name}, {by}" for by in too_wide(page)]
        complaints[:] = [f"{name}: {said}" for said in complaints if f"status of {OWED.get(name)}" not in said]
        assert complaints == []
    page.context.clear_cookies(name="sessionid")
    page.goto(site)
    assert page.title() == "Sign in · esweb"
    assert [*wide, *too_wide(page)] == []
    soaking.count(len(paths) + 1, "pages")


def too_wide(page: Page) -> Iterator[str]:
    """Yield the view and what hangs over the edge there. The first width is the one that the page was opened at."""
    is_narrow = page.viewport_size is not None and page.viewport_size["width"] == min(WIDTHS)
    for width in sorted(WIDTHS, reverse=not is_narrow):
        page.set_viewport_size({"width": width, "height": 900})
        for theme in ("light", "dark"):
            page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
            if by := over_the_edge(page, width):
                yield f"{theme}, {width} px: {by}"
