"""Home while it is open: what runs, ends and is resumed shows by itself."""

from playwright.sync_api import expect

from runs import launching
from tests.runs.full_runs import evaluation, make_run, record
from workers.executors.states import State


def test_a_run_is_followed_from_its_first_number_to_its_end_and_resumed(signed_in, address, experiment, runs_dir):
    run = make_run(experiment)
    signed_in.goto(address)
    signed_in.wait_for_selector("live-run[data-state=live]")
    going, wrong = signed_in.locator("#going"), signed_in.locator("#wrong")
    record(run, [evaluation(0, -45.9), evaluation(5, -40.9)])
    expect(going).to_contain_text("−40.9")
    expect(going).to_contain_text("5 of 60")
    launching.move(run.newest_attempt(), State.FAILED, "ValueError: the reward is not a number")
    expect(wrong).to_contain_text("ValueError: the reward is not a number")
    expect(going).to_contain_text("Nothing runs now.")
    expect(signed_in.locator("said-aloud")).to_contain_text("0 runs going, 0 waiting, 1 went wrong")
    wrong.get_by_role("button", name=f"Resume {run.name}").click()
    signed_in.wait_for_url(f"**{run.get_absolute_url()}")
    expect(signed_in.get_by_role("main")).to_contain_text("from the beginning, as attempt 2")


def test_runs_that_are_no_longer_shown_are_no_longer_watched(signed_in, address, experiment, runs_dir):
    first = make_run(experiment)
    signed_in.goto(address)
    signed_in.wait_for_selector("live-run[data-state=live]")
    second = make_run(experiment, seed=1)
    launching.move(first.newest_attempt(), State.SUCCEEDED, "reached its last step")
    expect(signed_in.locator("#going")).to_contain_text(second.name)
    watched = "Object.keys(document.querySelector('live-run').cursors).join()"
    signed_in.wait_for_function(f"uid => {watched} === uid", arg=second.uid)
    record(second, [evaluation(5, -40.9)])
    expect(signed_in.locator("#going")).to_contain_text("−40.9")


def test_somebody_new_makes_the_first_experiment_from_there(signed_in, address):
    signed_in.goto(address)
    signed_in.get_by_role("button", name="New experiment").click()
    signed_in.get_by_label("Name", exact=True).fill("Concise")
    signed_in.get_by_role("button", name="Make it").click()
    expect(signed_in.get_by_role("heading", name="Concise", level=1)).to_be_visible()
    signed_in.get_by_role("link", name="esweb").click()
    expect(signed_in.locator("#changed")).to_contain_text("You made it")
