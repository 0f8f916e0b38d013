import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from runs import launch, registry
from runs.models import ApiToken, SavedView
from runs.registry import Said
from tests.browser.charts import look_at
from tests.browser.settling import at_rest, over_the_edge
from tests.runs.checkpointing import fill, save
from tests.runs.nodes import told
from tests.runs.pages import a_bit_of_everything, evaluation, make_run, record
from tests.runs.recording import make_attempt
from tests.runs.test_pages_sweep import make_sweep
from workers.executors.states import State
from workers.records import Metric

AXE = (Path(__file__).parent / "vendor" / "axe-4.14.1.min.js").read_text(encoding="utf-8")
PAGES = (
    "experiments",
    "nothing",
    "experiment",
    "empty",
    "run",
    "waiting",
    "launch",
    "problems",
    "missing",
    "attempts",
    "restart",
    "clone",
    "palette",
    "keys",
    "log",
    "sweep",
    "queue",
    "costs",
    # Last, since whoever opens it must not be signed in.
    "login",
)
WIDTHS = (1440, 390)


@pytest.fixture
def run(experiment, runs_dir):
    """One that is running, with records of every kind."""
    run = make_run(experiment, "es-tiny", 99)
    record(run, [*a_bit_of_everything(), Metric(5, {"system/cpu_cores": 1.0, "system/memory_gb": 0.5})])
    return run


@pytest.fixture
def addresses(address, experiment, ada, run):
    """Every kind of page, full and empty."""
    for seed in range(12):
        ended = make_run(experiment, ("es-tiny", "grpo-tiny")[seed % 2], seed, "succeeded")
        record(ended, [evaluation(0, -40), evaluation(5, -10)])
    empty = type(experiment).objects.create(name="An experiment with a very long name" * 3, owner=ada)
    waiting = make_run(experiment, "grpo-tiny-reckless", 3, "queued")
    attempts, restart = many_attempts(experiment), make_run(experiment, "es-tiny", 5, "failed")
    restart.attempts.update(restart_at=timezone.now() + timedelta(hours=1), reason="no memory")
    form = f"{experiment.get_absolute_url()}launch/"
    paths = {
        "login": "/login/", "experiments": "/experiments/", "nothing": "/experiments/?q=nosuch",
        "experiment": experiment.get_absolute_url(),
        "empty": empty.get_absolute_url(), "run": run.get_absolute_url(), "waiting": waiting.get_absolute_url(),
        "launch": form, "problems": form, "missing": "/nosuch/",
        "attempts": attempts.get_absolute_url(), "restart": restart.get_absolute_url(),
        "clone": f"{form}?clone={attempts.uid}&es.sigma=0.5", "palette": "/experiments/", "keys": "/experiments/",
        "sweep": make_sweep(experiment).get_absolute_url(), "queue": "/queue/", "costs": "/costs/?since=all",
        "log": f"{attempts.get_absolute_url()}?against=base&log_find=step",
    }  # fmt: skip
    return {name: address + path for name, path in paths.items()}


def many_attempts(experiment):
    """An interrupted run with three attempts, a saved checkpoint, and rebuilds that run, failed and are ready."""
    run = make_run(experiment, "es-tiny", 4, "lost")
    record(run, a_bit_of_everything((0, 40)))
    save(run, 20)
    make_attempt(run, 2, "failed")
    folder = make_attempt(run, 3, "interrupted").directory
    folder.mkdir(parents=True, exist_ok=True)
    colours = "".join(f"\x1b[{code}m{code} " for code in (*range(31, 38), *range(90, 97), 2))
    # Enough lines for two pages. In every colour only the last: axe looks at each word of each colour for itself.
    (folder / "log.txt").write_text("".join(f"step {i}\n" for i in range(600)) + f"step 600 {colours}\x1b[0m\n")
    run.attempts.filter(n__gt=1).update(resumed_attempt=1, resumed_step=20, origin="restart", reason="no memory")
    type(run).objects.filter(pk=run.pk).update(state="interrupted")
    for step, state in ((7, State.RUNNING), (8, State.FAILED), (9, State.SUCCEEDED)):
        rebuild = launch.rebuild(run, step, experiment.owner)
        fill(rebuild.folder)
        launch.move(rebuild, state, "the base model has changed", progress=0.4, bytes=7002, sha256="ab" * 32)
    return run


def visit(page, addresses, name):
    if name == "login":
        page.context.clear_cookies(name="sessionid")
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    page.goto(addresses[name])
    if name == "problems":
        page.locator("[name='es.sigma']").fill("tiny")
        page.get_by_role("button", name="Launch").click()
        page.get_by_text("Nothing was launched.").wait_for()
    if name == "palette":
        page.keyboard.press("Control+k")
        page.locator(".palette [role=option]").first.wait_for()
    if name == "keys":
        page.keyboard.press("?")
        page.get_by_role("dialog", name="Keys").wait_for()
    if name in ("experiment", "run"):
        look_at(page, "reward")


SETTLED = """
    Promise.all(document.getAnimations()
      .filter((animation) => Number.isFinite(animation.effect.getComputedTiming().endTime))
      .map((animation) => animation.finished.catch(() => null)))
"""
"""Waited for: a colour amid its change from light to dark is neither, and no fault of the page."""
LOOKS = 3
COLOUR_RULES = ("color-contrast", "link-in-text-block")
"""The rules of axe whose outcome depends on the theme. The others are checked in one theme only."""


def faults(page, rules=()):
    """Return the serious faults that axe finds, as text; `rules` limits what it checks.

    A real fault is found again: what is not was part of the page that a refresh replaced during the check.
    """
    for _ in range(LOOKS):
        if (text := faults_now(page, rules)) == "[]":
            break
    return text


def faults_now(page, rules=()):
    """Return what one check finds, once everything is loaded and no colour changes any more."""
    page.wait_for_load_state()
    page.evaluate(SETTLED)
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE)
    options = {"resultTypes": ["violations"], **({"runOnly": {"type": "rule", "values": list(rules)}} if rules else {})}
    violations = page.evaluate("options => axe.run(document, options)", options)["violations"]
    serious = [v for v in violations if v["impact"] in ("serious", "critical")]
    return json.dumps([(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in serious], indent=1)


def rules_in(theme):
    """Return the rules to check in a theme: all of them in light, those about colours in dark."""
    return COLOUR_RULES if theme == "dark" else ()


def widths_in(theme):
    """Return the widths to check in a theme: colours are the same at each."""
    return WIDTHS[:1] if theme == "dark" else WIDTHS


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault_and_nothing_hangs_over_the_edge(signed_in, addresses, complaints, theme):
    # The system wants the other one: the person's choice must win everywhere.
    signed_in.emulate_media(color_scheme="dark" if theme == "light" else "light", reduced_motion="reduce")
    signed_in.context.add_cookies([{"name": "theme", "value": theme, "url": addresses["login"]}])
    found = {}
    for name in PAGES:
        visit(signed_in, addresses, name)
        for width in widths_in(theme):
            signed_in.set_viewport_size({"width": width, "height": 900})
            found[name, width] = (over_the_edge(signed_in, width), faults(signed_in, rules_in(theme)))
    assert {at: said for at, said in found.items() if said != ("", "[]")} == {}
    complaints[:] = [c for c in complaints if "status of 40" not in c]


@pytest.fixture
def other_pages(ada, experiment, runs_dir):
    """Pages that need no more than one of each thing, and what somebody new sees of them."""
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    failed, waiting = make_run(experiment, "es-tiny", 1, "failed"), make_run(experiment, "es-tiny", 2, "queued")
    failed.attempts.update(ended_at=timezone.now(), reason="ValueError: sigma is no number")
    thrown = type(experiment).objects.create(name="Thrown away", owner=ada, deleted_at=timezone.now())
    SavedView.objects.create(owner=ada, name="Best first", page="experiment", experiment=experiment, is_shared=True)
    registry.register(ada, Said("scorer", "safety-7b", "0123456789", "http://node7:8000", "/health"))
    for one in (run, failed):
        told(one.newest_attempt())
    ApiToken.objects.create(user=ada, name="laptop", scope="read", digest="0", expires_at=timezone.now())
    type(ada).objects.filter(pk=ada.pk).update(is_superuser=True)
    names = (
        "home",
        "compare",
        "saved-views",
        "services",
        "bin",
        "settings-tokens",
        "settings-password",
        "settings-people",
        "api-docs",
    )
    return [
        *map(reverse, names), f"{reverse('experiments')}?shelf=archived",
        f"{experiment.get_absolute_url()}?group=recipe", f"{reverse('compare')}?run={run.uid}&run={failed.uid}",
        waiting.get_absolute_url(),
        f"{experiment.get_absolute_url()}?q=nosuch:1", reverse("experiment-edit", args=[experiment.pk]),
        f"{reverse('share')}?page=experiment&experiment={experiment.pk}", thrown.get_absolute_url(),
    ]  # fmt: skip


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault_on_any_other_page(signed_in, address, other_pages, complaints, theme):
    signed_in.emulate_media(color_scheme=theme, reduced_motion="reduce")
    look_over(signed_in, address, other_pages, complaints, theme)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault_on_what_somebody_new_sees(signed_in, address, complaints, theme):
    signed_in.emulate_media(color_scheme=theme, reduced_motion="reduce")
    names = ("home", "experiments", "compare", "saved-views", "bin", "settings-tokens")
    look_over(signed_in, address, map(reverse, names), complaints, theme)


def look_over(page, address, paths, complaints, theme):
    """Check each page with axe: wide and narrow in light, wide in dark."""
    for path in paths:
        page.goto(address + path)
        for width in widths_in(theme):
            page.set_viewport_size({"width": width, "height": 900})
            assert faults(page, rules_in(theme)) == "[]", f"{path} at {width} px"
    complaints[:] = [c for c in complaints if "status of 40" not in c]


def test_the_first_tab_skips_to_the_content(signed_in, address, run):
    signed_in.goto(f"{address}/experiments/")
    signed_in.keyboard.press("Tab")
    focus = signed_in.locator(":focus")
    expect(focus).to_have_text("Skip to the content")
    assert focus.bounding_box()["y"] >= 0
    signed_in.keyboard.press("Enter")
    expect(signed_in.locator("#main")).to_be_focused()


def test_tab_walks_in_the_order_of_the_page_and_focus_is_seen(signed_in, address, run):
    signed_in.goto(f"{address}/experiments/")
    seen, places = [], []
    for _ in range(12):
        signed_in.keyboard.press("Tab")
        focus = signed_in.locator(":focus")
        seen.append(focus.get_attribute("aria-label") or focus.text_content().strip() or focus.get_attribute("name"))
        places.append(focus.evaluate("e => [...document.querySelectorAll('*')].indexOf(e)"))
        assert focus.evaluate("e => getComputedStyle(e).outlineStyle") != "none"
    assert seen[:3] == ["Skip to the content", "esweb", "Experiments"]
    assert {"Keys", "Theme: system. Switch to light", "Sign out"} <= set(seen)
    assert places == sorted(places)


def test_a_dialog_takes_the_focus_and_gives_it_back(signed_in, address, run):
    signed_in.goto(f"{address}{run.get_absolute_url()}")
    signed_in.get_by_role("button", name="Cancel run").press("Enter")
    expect(signed_in.locator("#cancel-dialog :focus")).to_have_count(1)
    signed_in.keyboard.press("Escape")
    expect(signed_in.locator("#cancel-button")).to_be_focused()


def test_a_dialog_gives_the_focus_back_where_its_button_was_refreshed_meanwhile(signed_in, address, run):
    signed_in.goto(f"{address}{run.get_absolute_url()}")
    at_rest(signed_in)
    signed_in.get_by_role("button", name="Cancel run").click()
    with signed_in.expect_response("**/state/"):
        signed_in.evaluate("document.body.dispatchEvent(new CustomEvent('run-changed:state'))")
    signed_in.wait_for_function("() => !document.querySelector('#state').classList.contains('htmx-request')")
    signed_in.keyboard.press("Escape")
    expect(signed_in.locator("#cancel-button")).to_be_focused()


def test_the_theme_is_kept_by_the_server_and_charts_follow_it(signed_in, address, run):
    page = signed_in
    page.emulate_media(color_scheme="light")
    page.goto(f"{address}{run.experiment.get_absolute_url()}")
    look_at(page, "reward")
    colour = "document.querySelector('#chart-reward .plot').data.find(trace => !trace.fill).line.color"
    light = page.evaluate(colour)
    for theme in ("light", "dark"):
        page.get_by_role("button", name=f"Switch to {theme}").click()
    look_at(page, "reward")
    page.wait_for_function(f"() => {colour} !== '{light}'")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Switch to system").click()
    expect(page.locator("html:not([data-theme])")).to_have_count(1)


def test_the_numbers_of_a_chart_come_as_a_table(signed_in, addresses):
    signed_in.goto(addresses["experiment"])
    chart = signed_in.locator("#chart-reward")
    chart.get_by_text("Numbers", exact=True).click()
    chart.get_by_role("columnheader", name="mean").wait_for()
    expect(chart.get_by_role("link", name="Download as CSV")).to_be_visible()
