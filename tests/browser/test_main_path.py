from django.contrib.auth.models import User
from playwright.sync_api import expect

from runs.models import Experiment, Run
from tests.browser.page_idle import wait_for_page
from workers.config import preset


def test_user_signs_in_launches_and_cancels_run(page, address, ada, complaints):
    ada.set_password("a long password")
    ada.save()

    page.goto(address)
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("a long password")
    page.get_by_role("button", name="Sign in").click()
    wait_for_page(page, f"{address}/")

    page.get_by_role("button", name="New experiment").click()
    page.get_by_label("Name", exact=True).fill("Concise")
    page.get_by_label("Question", exact=True).fill("Does it learn?")
    page.get_by_role("button", name="Create experiment").click()
    page.get_by_role("heading", name="Concise").wait_for()
    assert Experiment.objects.get().owner == User.objects.get(username="ada")

    page.get_by_role("link", name="Launch runs").first.click()
    wait_for_page(page, "**/launch/**")
    page.get_by_label("Start from").select_option("grpo-micro")
    expect(page.locator("#part-es")).to_be_hidden()
    steps = preset("grpo-micro").config["grpo"]["max_steps"]
    expect(page.locator("[name='grpo.max_steps']")).to_have_value(str(steps))
    page.get_by_label("Name", exact=True).fill("first one")
    page.get_by_role("button", name="Launch").click()

    page.get_by_role("heading", name="first one").wait_for()
    run = Run.objects.get()
    wait_for_page(page, f"{address}{run.get_absolute_url()}")

    page.get_by_role("button", name="Cancel run").click()
    page.get_by_role("button", name="Cancel the run").click()
    page.get_by_text("Cancel of first one requested").wait_for()
    run.refresh_from_db()
    assert run.state == "cancelled"
