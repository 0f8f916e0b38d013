"""The open home page: running, finished and resumed runs appear automatically."""

from playwright.sync_api import expect

from runs import launching
from tests.runs.full_runs import evaluation, make_run, record
from workers.executors.states import State


def test_home_follows_run_until_failure_and_resumes_it(signed_in, address, experiment, runs_dir):
    run = make_run(experiment)
    signed_in.goto(address)
    signed_in.wait_for_selector("live-run[data-state=live]")
    running, failed = signed_in.locator("#going"), signed_in.locator("#wrong")
    record(run, [evaluation(0, -45.9), evaluation(5, -40.9)])
    expect(running).to_contain_text("−40.9")
    expect(running).to_contain_text("5 of 60")
    launching.transition(run.newest_attempt(), State.FAILED, "ValueError: the reward is not a number")
    expect(failed).to_contain_text("ValueError: the reward is not a number")
    expect(running).to_contain_text("No run is running.")
    expect(signed_in.locator("live-region")).to_contain_text("0 runs running, 0 waiting, 1 failed")
    failed.get_by_role("button", name=f"Resume {run.name}").click()
    signed_in.wait_for_url(f"**{run.get_absolute_url()}")
    expect(signed_in.get_by_role("main")).to_contain_text("from the beginning, as attempt 2")


def test_hidden_runs_are_no_longer_watched(signed_in, address, experiment, runs_dir):
    first = make_run(experiment)
    signed_in.goto(address)
    signed_in.wait_for_selector("live-run[data-state=live]")
    second = make_run(experiment, seed=1)
    launching.transition(first.newest_attempt(), State.SUCCEEDED, "reached its last step")
    expect(signed_in.locator("#going")).to_contain_text(second.name)
    watched = "Object.keys(document.querySelector('live-run').cursors).join()"
    signed_in.wait_for_function(f"uid => {watched} === uid", arg=second.uid)
    record(second, [evaluation(5, -40.9)])
    expect(signed_in.locator("#going")).to_contain_text("−40.9")


def test_new_user_creates_first_experiment(signed_in, address):
    signed_in.goto(address)
    signed_in.get_by_role("button", name="New experiment").click()
    signed_in.get_by_label("Name", exact=True).fill("Concise")
    signed_in.get_by_role("button", name="Create experiment").click()
    expect(signed_in.get_by_role("heading", name="Concise", level=1)).to_be_visible()
    signed_in.get_by_role("link", name="esweb").click()
    expect(signed_in.locator("#changed")).to_contain_text("You created the experiment")
