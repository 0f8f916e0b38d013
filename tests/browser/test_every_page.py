"""Every page, without runs and with many of them: it fits its window and the console stays quiet.

A page sends as many queries to the database for many runs as for few.
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
from tests import soak_plugin
from tests.browser.page_idle import find_overflow
from tests.conftest import person
from tests.runs.full_runs import a_bit_of_everything, record
from tests.runs.many_runs import LONG_NAME, TAGS, crowd

WIDTHS = (1440, 390)
FEW, MANY, CROWD = 4, 60, 10_000 if soak_plugin.SECONDS else 1000
"""Numbers of runs. `CROWD` is more than any page shows. `make soak PART=pages` has ten thousand runs."""
GROUPED = "?group=recipe&group=state"
COLUMNS = "?" + "&".join(
    f"col={key}"
    for key in (
        "state", "tag", "note", "created", "by", "recipe", "preset", "model.path", "task.name", "es.sigma", "es.alpha",
        "es.population", "reward/mean.min", "reward/mean.max", "kl.max", "time",
    )
)  # fmt: skip
EXPECTED_STATUSES = {
    "the address of nothing": 404,
    "somebody's private experiment": 404,
    "editing what is another's": 403,
    "people, not for members": 403,
}
"""Pages that are errors on purpose, with their status."""


@pytest.fixture
def bo(transactional_db: None) -> User:
    return person("bo")


@pytest.fixture
def crowded_experiment(ada: User, bo: User) -> Experiment:
    """Return the experiment of all runs, with a name of the maximal length."""
    return Experiment.objects.create(name=LONG_NAME[:200], question="Why? " * 60, tags=TAGS, owner=ada)


def fill(crowded_experiment: Experiment, count: int, first: int = 0) -> None:
    """Create `count` runs, the first with records of every kind, and up to a hundred rows of other kinds."""
    runs = crowd(crowded_experiment, count, first)
    for n in range(first, first + min(count, 100)):
        Experiment.objects.create(name=f"Experiment {n}", owner=crowded_experiment.owner)
        Experiment.objects.create(name=f"Thrown {n}", owner=crowded_experiment.owner, deleted_at=timezone.now())
        SavedView.objects.create(
            owner=crowded_experiment.owner, name=f"View {n}", page="experiment", experiment=crowded_experiment
        )
        ApiToken.objects.create(
            user=crowded_experiment.owner, name=f"t{n}", scope="read", digest=f"{n}", expires_at=timezone.now()
        )
        commands.register(
            crowded_experiment.owner,
            Registration("scorer", f"scorer-{n}", "0123456789", f"http://node{n}:8000", "/health"),
        )
        person(f"person {n}")
    if first == 0:
        make_run_sweep(crowded_experiment, runs[:MANY])
    deleted = crowd(crowded_experiment, min(count, 100), first + 20_000)
    Run.objects.filter(pk__in=[run.pk for run in deleted]).update(deleted_at=timezone.now())
    if first == 0 and runs:
        record(runs[0], a_bit_of_everything())
    with connection.cursor() as cursor:
        # PostgreSQL does this automatically within a minute: without it the planner believes the tables to be empty.
        cursor.execute("ANALYZE")


def make_run_sweep(crowded_experiment: Experiment, runs: list[Run]) -> None:
    """Create a sweep of these runs, each of them a cell."""
    values = [n / 1000 for n in range(1, len(runs) + 1)] or [0.1]
    sweep = Sweep.objects.create(
        experiment=crowded_experiment, name=LONG_NAME[:200], base={}, grid={"es.sigma": values}, seeds=[0], at_once=4,
        created_by=crowded_experiment.owner,
    )  # fmt: skip
    for run, value in zip(runs, values, strict=False):
        Run.objects.filter(pk=run.pk).update(sweep=sweep, cell={"es.sigma": value})


def pages(ada: User, bo: User, crowded_experiment: Experiment) -> dict[str, str]:
    """Return page name -> address; pages of runs only if there are runs."""
    address, compare = crowded_experiment.get_absolute_url(), reverse("compare")
    hidden = Experiment.objects.get_or_create(name="Secret", owner=bo, is_private=True)[0]
    foreign = Experiment.objects.get_or_create(name="Bo's", owner=bo)[0]
    out = {
        "home": "/", "home, mine, a week": "/?whose=mine&since=7d", "experiments": reverse("experiments"),
        "experiments, archived": f"{reverse('experiments')}?shelf=archived", "experiment": address,
        "experiment, grouped": address + GROUPED, "experiment, many columns": address + COLUMNS,
        "experiment, nothing fits": f"{address}?q=seed:-1", "experiment, wrong query": f"{address}?q=nosuch:1",
        "experiment, edited": reverse("experiment-edit", args=[crowded_experiment.pk]),
        "launch": reverse("launch", args=[crowded_experiment.pk]),
        "compare, none": compare, "compare, many": f"{compare}?experiment={crowded_experiment.pk}&show=all",
        "share": f"{reverse('share')}?page=experiment&experiment={crowded_experiment.pk}",
        "shared experiment": reverse("shared", args=[link_text(ada, Scope.EXPERIMENT, [crowded_experiment.pk], "day")]),
        "λ, none": reverse("experiment-lambda", args=[crowded_experiment.pk]),
        "queue": reverse("queue"), "costs": f"{reverse('costs')}?by=experiment&since=all",
        "sweep": crowded_experiment.sweeps.get().get_absolute_url(),
        "services": reverse("services"), "side by side, none": reverse("viewer"),
        "views": reverse("saved-views"), "bin": reverse("bin"), "tokens": reverse("settings-tokens"),
        "password": reverse("settings-password"), "people": reverse("settings-people"),
        "thresholds of the site": reverse("settings-flags"),
        "thresholds": reverse("experiment-flags", args=[crowded_experiment.pk]),
        "people, not for members": reverse("settings-people"), "API docs": reverse("api-docs"),
        "the address of nothing": "/nosuch/", "somebody's private experiment": hidden.get_absolute_url(),
        "editing what is another's": reverse("experiment-edit", args=[foreign.pk]),
    }  # fmt: skip
    return out | run_pages(ada, crowded_experiment.runs.order_by("pk"), compare)


def run_pages(ada: User, runs, compare: str) -> dict[str, str]:
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


def set_role_for(ada: User, name: str) -> None:
    """Make Ada an administrator for pages that only they see, and a member for all other pages."""
    User.objects.filter(pk=ada.pk).update(is_superuser=name in ("people", "thresholds of the site"))


def test_pages_without_runs_fit_without_console_messages(signed_in, address, complaints, ada, bo, crowded_experiment):
    fill(crowded_experiment, 0)
    check_every_page(signed_in, address, pages(ada, bo, crowded_experiment), complaints, ada)


def test_pages_with_many_runs_fit_with_constant_queries(
    signed_in, address, complaints, ada, bo, crowded_experiment, monkeypatch
):
    # A table that finds more than so many does not name them in later queries.
    monkeypatch.setattr("runs.compare.run_table.queries.FEW", CROWD // 2)
    query_counts: dict[str, list[int]] = {}
    client = Client()
    client.force_login(ada)
    for count, first in ((FEW, 0), (MANY - FEW, FEW), (CROWD - MANY, MANY)):
        fill(crowded_experiment, count, first)
        for name, path in pages(ada, bo, crowded_experiment).items():
            set_role_for(ada, name)
            # The first view stores the looks of the groups on charts.
            client.get(path)
            with CaptureQueriesContext(connection) as queries:
                assert client.get(path).status_code == EXPECTED_STATUSES.get(name, 200), name
            query_counts.setdefault(name, []).append(len(queries))
    # One more, however many there are: a table that has more than a page of runs counts them.
    assert {
        name: counts for name, counts in query_counts.items() if len(set(counts[:2])) > 1 or counts[2] > counts[0] + 1
    } == {}
    check_every_page(signed_in, address, pages(ada, bo, crowded_experiment), complaints, ada)


def check_every_page(page: Page, site: str, paths: dict[str, str], complaints: list[str], ada: User) -> None:
    """Open each page, at last the sign-in page. None may be too wide or cause messages in the console."""
    overflows: list[str] = []
    for name, path in paths.items():
        set_role_for(ada, name)
        assert page.goto(site + path).status == EXPECTED_STATUSES.get(name, 200), name
        overflows += [f"{name}, {overflow}" for overflow in find_overflows(page)]
        complaints[:] = [
            f"{name}: {message}" for message in complaints if f"status of {EXPECTED_STATUSES.get(name)}" not in message
        ]
        assert complaints == []
    page.context.clear_cookies(name="sessionid")
    page.goto(site)
    assert page.title() == "Sign in · esweb"
    assert [*overflows, *find_overflows(page)] == []
    soak_plugin.count(len(paths) + 1, "pages")


def find_overflows(page: Page) -> Iterator[str]:
    """Yield the view and the elements that overflow there. The first width is the one that the page was opened at."""
    is_narrow = page.viewport_size is not None and page.viewport_size["width"] == min(WIDTHS)
    for width in sorted(WIDTHS, reverse=not is_narrow):
        page.set_viewport_size({"width": width, "height": 900})
        for theme in ("light", "dark"):
            page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
            if overflow := find_overflow(page, width):
                yield f"{theme}, {width} px: {overflow}"
