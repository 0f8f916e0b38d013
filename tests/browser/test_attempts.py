import tarfile

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from runs import launching
from runs.models import Attempt, Rebuild
from tests.browser.page_idle import wait_until_idle
from tests.runs.checkpoint_files import fill, save
from tests.runs.full_runs import make_run, record
from workers.executors.states import State
from workers.records import Member, Population


@pytest.fixture
def run(experiment, runs_dir):
    """Return a run interrupted at step 40, after it saved step 20."""
    run = make_run(experiment, state="interrupted")
    record(run, [Population(40, (Member(0, -40.0, z=1.0),))])
    save(run, 20)
    return run


@pytest.fixture
def open_tab(signed_in, address, run):
    """Return a function that opens the tab of a route."""

    def open_tab(route):
        signed_in.goto(f"{address}{reverse(route, args=[run.uid])}")
        wait_until_idle(signed_in)
        return signed_in

    return open_tab


def list_tar_files(download):
    with tarfile.open(download.value.path()) as tar:
        return {member.name for member in tar.getmembers()}


def test_run_is_resumed_by_keyboard_as_new_attempt(open_tab, run):
    open_page = open_tab("run-log")
    expect(open_page.get_by_text("Resumes from step 20 of 60, as attempt 2.")).to_be_visible()
    open_page.get_by_role("button", name="Resume").press("Enter")
    open_page.get_by_text("resumes from step 20, as attempt 2").first.wait_for()
    open_page.get_by_role("link", name="Log", exact=True).click()
    assert Attempt.objects.count() == 2
    row = open_page.locator("#past tbody").first
    expect(row).to_contain_text("step 20")
    expect(row).to_contain_text("resumed by ada")
    expect(open_page.get_by_role("button", name="Resume")).to_have_count(0)
    expect(open_page.get_by_role("button", name="Cancel run")).to_be_visible()


def test_checkpoints_are_downloaded_when_saved_or_rebuilt(open_tab, run, complaints):
    open_page = open_tab("run-checkpoints")
    with open_page.expect_download() as download:
        open_page.get_by_role("link", name="Download step 20").click()
    assert download.value.suggested_filename == f"{run.uid}-step-000020.tar"
    assert f"{run.uid}-step-000020/adapter/model.safetensors" in list_tar_files(download)
    step = open_page.get_by_label("Checkpoint of step")
    step.fill("41")
    step.press("Enter")
    expect(open_page.get_by_role("alert")).to_contain_text("from 0 to 40")
    expect(step).to_have_value("41")
    step.fill("33")
    step.press("Enter")
    row = open_page.get_by_role("row").filter(has=open_page.get_by_role("rowheader", name="33", exact=True))
    expect(row).to_contain_text("created")
    expect(open_page.get_by_role("alert")).to_have_count(0)
    rebuild = Rebuild.objects.get()
    launching.transition(rebuild, State.RUNNING, "")
    launching.update_facts(rebuild, progress=0.5)
    expect(row.get_by_role("progressbar")).to_have_attribute("value", "0.5")
    fill(rebuild.folder)
    launching.transition(rebuild, State.SUCCEEDED, "done", bytes=7002, sha256="ab" * 32)
    with open_page.expect_download() as download:
        row.get_by_role("link", name="Download").click()
    assert len(list_tar_files(download)) == 2
    # An existing checkpoint is downloaded immediately.
    with open_page.expect_download() as download:
        step.press("Enter")
    assert download.value.suggested_filename == f"{run.uid}-step-000033.tar"


def test_clone_form_creates_equal_run_with_new_seed(open_tab, run):
    open_page = open_tab("run")
    open_page.get_by_role("link", name="Clone").click()
    expect(open_page.locator("#standing")).to_contain_text("Name: es-tiny seed 0 (copy).")
    open_page.get_by_label("Seeds").fill("5")
    expect(open_page.locator("#standing")).to_contain_text("Name: es-tiny seed 5.")
    open_page.get_by_role("button", name="Launch").click()
    open_page.get_by_role("heading", name="es-tiny seed 5").wait_for()
    clone = type(run).objects.exclude(pk=run.pk).get()
    assert clone.config == run.config | {"seed": 5}
