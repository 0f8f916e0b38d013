from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from runs import launching
from runs.launching import rebuilds
from runs.models import ApiToken, SavedView
from runs.run_page.log import files
from runs.service_registry import commands
from runs.service_registry.commands import Registration
from tests.browser.axe import HEIGHT, VIEWS, WIDE, check_views, choose_theme
from tests.browser.chart_readout import scroll_to_chart
from tests.browser.page_idle import wait_until_idle
from tests.runs.attempt_records import make_attempt
from tests.runs.checkpoint_files import fill, save
from tests.runs.environments import report_environment
from tests.runs.full_runs import a_bit_of_everything, evaluation, make_run, record
from tests.runs.launching.test_sweep_page import make_sweep
from tests.runs.model_files import QWEN2_7B, write_model_config
from workers.executors.states import State
from workers.records import Metric

STATES = ("run", "launch", "problems", "attempts", "restart", "palette", "keys", "log")
"""What becomes of pages after they were opened, or with rows that other tests do not make."""
PAGES = (
    "experiments", "nothing", "experiment", "empty", "waiting", "missing", "clone", "sweep", "queue", "costs", "curves",
    "responses", "weights", "config", "checkpoints",
    # Last, since its visitor must not be signed in.
    "login",
)  # fmt: skip
"""Kinds of pages that test_every_page.py opens too, in one view."""
DIALOGS = ("palette", "keys")
"""Dialogs above a page that is checked separately."""


@pytest.fixture
def run(experiment, runs_dir):
    """Return a run that is running, with records of every kind."""
    run = make_run(experiment, "es-tiny", 99)
    seconds = {f"time/{phase}_seconds": 0.5 for phase in ("noise", "prefill", "decode", "scoring", "update")}
    machine = {"system/cpu_cores": 1.0, "system/memory_gb": 0.5, "system/gpu0/busy": 0.9}
    record(run, [*a_bit_of_everything(), Metric(5, seconds | {"es/tokens_per_second": 5000.0}), Metric(5, machine)])
    return run


@pytest.fixture
def addresses(address, experiment, ada, run, monkeypatch, tmp_path, local):
    """Return the address of every kind of page, full and empty."""
    write_model_config(tmp_path / "models" / "qwen", QWEN2_7B)
    local.config = {"data_paths": [str(tmp_path / "models")], "gpus": ["0"]}
    local.save()
    monkeypatch.setattr(files, "PAGE_LINES", 50)
    for seed in range(4):
        succeeded = make_run(experiment, ("es-tiny", "grpo-tiny")[seed % 2], seed, "succeeded")
        record(succeeded, [evaluation(0, -40), evaluation(5, -10)])
    empty = type(experiment).objects.create(name="An experiment with a very long name" * 3, owner=ada)
    waiting = make_run(experiment, "grpo-tiny-reckless", 3, "queued")
    attempts, restart = make_run_with_many_attempts(experiment), make_run(experiment, "es-tiny", 5, "failed")
    restart.attempts.update(restart_at=timezone.now() + timedelta(hours=1), reason="no memory")
    form = f"{experiment.get_absolute_url()}launch/"
    paths = {
        "login": "/login/", "experiments": "/experiments/", "nothing": "/experiments/?q=nosuch",
        "experiment": experiment.get_absolute_url(),
        "empty": empty.get_absolute_url(), "run": run.get_absolute_url(), "waiting": waiting.get_absolute_url(),
        "launch": f"{form}?model.path=qwen&compute.gpus=1", "problems": form, "missing": "/nosuch/",
        "attempts": attempts.get_absolute_url(), "restart": restart.get_absolute_url(),
        "clone": f"{form}?clone={attempts.uid}&es.sigma=0.5", "palette": "/experiments/", "keys": "/experiments/",
        "sweep": make_sweep(experiment).get_absolute_url(), "queue": "/queue/", "costs": "/costs/?since=all",
        "log": f"{reverse('run-log', args=[attempts.uid])}?log_find=step",
        "curves": reverse("run-curves", args=[run.uid]),
        "responses": f"{reverse('run-responses', args=[attempts.uid])}?against=base",
        "weights": reverse("run-weights", args=[run.uid]), "config": reverse("run-config", args=[run.uid]),
        "checkpoints": reverse("run-checkpoints", args=[attempts.uid]),
    }  # fmt: skip
    return {name: address + path for name, path in paths.items()}


def make_run_with_many_attempts(experiment):
    """Return an interrupted run with three attempts, a saved checkpoint, and running, failed and finished rebuilds."""
    run = make_run(experiment, "es-tiny", 4, "lost")
    record(run, a_bit_of_everything((0, 40)))
    save(run, 20)
    make_attempt(run, 2, "failed")
    folder = make_attempt(run, 3, "interrupted").directory
    folder.mkdir(parents=True, exist_ok=True)
    colours = "".join(f"\x1b[{code}m{code} " for code in (*range(31, 38), *range(90, 97), 2))
    # Enough lines for two pages. In every colour only the last: axe looks at each word of each colour for itself.
    (folder / "log.txt").write_text("".join(f"step {i}\n" for i in range(60)) + f"step 60 {colours}\x1b[0m\n")
    run.attempts.filter(n__gt=1).update(resumed_attempt=1, resumed_step=20, origin="restart", reason="no memory")
    type(run).objects.filter(pk=run.pk).update(state="interrupted")
    for step, state in ((7, State.RUNNING), (8, State.FAILED), (9, State.SUCCEEDED)):
        rebuild = rebuilds.rebuild_checkpoint(run, step, experiment.owner)
        fill(rebuild.folder)
        launching.transition(rebuild, state, "the base model has changed", progress=0.4, bytes=7002, sha256="ab" * 32)
    return run


def visit(page, addresses, name):
    if name == "login":
        page.context.clear_cookies(name="sessionid")
    if name == "keys":
        # A narrow page does not offer them.
        page.set_viewport_size({"width": WIDE, "height": HEIGHT})
    page.goto(addresses[name])
    if name == "launch":
        page.get_by_role("region", name="GPU memory by part, scrolls sideways").wait_for()
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
    if name in ("experiment", "run", "curves"):
        scroll_to_chart(page, "reward")


def test_states_of_pages_pass_axe_and_fit(signed_in, addresses, complaints, views):
    faults = {}
    for name in (*STATES, *(PAGES if views == VIEWS else ())):
        visit(signed_in, addresses, name)
        scope = "dialog[open]" if name in DIALOGS else "html"
        faults[name] = check_views(signed_in, views, choose_theme, scope)
    assert {name: page_faults for name, page_faults in faults.items() if page_faults != "{}"} == {}
    complaints[:] = [c for c in complaints if "status of 40" not in c]


@pytest.fixture
def other_paths(ada, experiment, runs_dir):
    """Return addresses of pages that need at most one row of each kind, and of pages of a new user."""
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    failed, waiting = make_run(experiment, "es-tiny", 1, "failed"), make_run(experiment, "es-tiny", 2, "queued")
    failed.attempts.update(ended_at=timezone.now(), reason="ValueError: sigma is no number")
    deleted = type(experiment).objects.create(name="Thrown away", owner=ada, deleted_at=timezone.now())
    SavedView.objects.create(owner=ada, name="Best first", page="experiment", experiment=experiment, is_shared=True)
    commands.register(ada, Registration("scorer", "safety-7b", "0123456789", "http://localhost:8000", "/health"))
    for reported_run in (run, failed):
        report_environment(reported_run.newest_attempt())
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
        f"{reverse('share')}?page=experiment&experiment={experiment.pk}", deleted.get_absolute_url(),
    ]  # fmt: skip


@pytest.mark.soak
def test_other_pages_pass_axe_and_fit(signed_in, address, other_paths, complaints):
    check_pages(signed_in, address, other_paths, complaints)


@pytest.mark.soak
def test_new_users_pages_pass_axe_and_fit(signed_in, address, complaints):
    names = ("home", "experiments", "compare", "saved-views", "bin", "settings-tokens")
    check_pages(signed_in, address, map(reverse, names), complaints)


def check_pages(page, address, paths, complaints):
    """Check each page in every view."""
    for path in paths:
        page.goto(address + path)
        problems = check_views(page, VIEWS)
        assert problems == "{}", f"{path}: {problems}"
    complaints[:] = [c for c in complaints if "status of 40" not in c]


def test_tab_offers_skip_link_and_follows_page_order_with_visible_focus(signed_in, address, experiment):
    signed_in.goto(f"{address}/experiments/")
    signed_in.keyboard.press("Tab")
    focus = signed_in.locator(":focus")
    expect(focus).to_have_text("Skip to the content")
    assert focus.bounding_box()["y"] >= 0
    names, positions = [], []
    for _ in range(14):
        focus = signed_in.locator(":focus")
        names.append(focus.get_attribute("aria-label") or focus.text_content().strip() or focus.get_attribute("name"))
        positions.append(focus.evaluate("e => [...document.querySelectorAll('*')].indexOf(e)"))
        assert focus.evaluate("e => getComputedStyle(e).outlineStyle") != "none"
        signed_in.keyboard.press("Tab")
    assert names[:3] == ["Skip to the content", "esweb", "Experiments"]
    assert {"Keys", "Theme: system. Switch to light", "Sign out"} <= set(names)
    assert positions == sorted(positions)
    signed_in.get_by_role("link", name="Skip to the content").focus()
    signed_in.keyboard.press("Enter")
    expect(signed_in.locator("#main")).to_be_focused()


def test_dialog_returns_focus_when_its_button_was_refreshed(signed_in, address, run):
    signed_in.goto(f"{address}{run.get_absolute_url()}")
    wait_until_idle(signed_in)
    signed_in.get_by_role("button", name="Cancel run").press("Enter")
    expect(signed_in.locator("#cancel-dialog :focus")).to_have_count(1)
    signed_in.keyboard.press("Escape")
    expect(signed_in.locator("#cancel-button")).to_be_focused()
    signed_in.get_by_role("button", name="Cancel run").click()
    with signed_in.expect_response("**/state/"):
        signed_in.evaluate("document.body.dispatchEvent(new CustomEvent('run-changed:state'))")
    signed_in.wait_for_function("() => !document.querySelector('#state').classList.contains('htmx-request')")
    signed_in.keyboard.press("Escape")
    expect(signed_in.locator("#cancel-button")).to_be_focused()


def test_charts_have_a_table_of_numbers_and_follow_the_theme_which_persists(signed_in, address, run):
    page = signed_in
    page.emulate_media(color_scheme="light")
    page.goto(f"{address}{run.experiment.get_absolute_url()}")
    check_numbers(page.locator("#chart-reward"))
    scroll_to_chart(page, "reward")
    colour = "document.querySelector('#chart-reward .plot').data.find(trace => !trace.fill).line.color"
    light = page.evaluate(colour)
    for theme in ("light", "dark"):
        page.get_by_role("button", name=f"Switch to {theme}").click()
    scroll_to_chart(page, "reward")
    page.wait_for_function(f"() => {colour} !== '{light}'")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Switch to system").click()
    expect(page.locator("html:not([data-theme])")).to_have_count(1)


def check_numbers(chart):
    """Check that the numbers of a chart are available as a table."""
    chart.get_by_text("Numbers", exact=True).click()
    chart.get_by_role("columnheader", name="mean").wait_for()
    expect(chart.get_by_role("link", name="Download as CSV")).to_be_visible()
