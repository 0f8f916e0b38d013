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


def test_invalid_launch_form_keeps_input_and_shows_problems(signed_in, address, experiment, complaints):
    page = signed_in
    page.goto(f"{address}{experiment.get_absolute_url()}launch/?preset=es-tiny")
    page.locator("[name='es.sigma']").fill("tiny")
    page.get_by_text("More settings: Evolution Strategies").click()
    page.locator("[name='es.rows']").fill("-1")
    page.get_by_role("button", name="Launch").click()
    page.get_by_text("Nothing was launched.").wait_for()
    expect(page.locator("[name='es.sigma']")).to_have_value("tiny")
    # A problem in a folded part opens it.
    expect(page.locator("[name='es.rows']")).to_be_visible()
    # The form is answered with 400, which the browser's console reports.
    assert [c for c in complaints if "400" not in c] == []
    complaints.clear()


def test_method_switch_shows_its_fields_and_keeps_input(signed_in, address, experiment):
    page = signed_in
    page.goto(f"{address}{experiment.get_absolute_url()}launch/?preset=es-tiny")
    page.locator("[name='es.sigma']").fill("0.5")
    page.get_by_label("GRPO").check()
    expect(page.locator("#part-grpo")).to_be_visible()
    expect(page.locator("#part-es")).to_be_hidden()
    page.get_by_label("Evolution Strategies").check()
    expect(page.locator("[name='es.sigma']")).to_have_value("0.5")


def test_preset_choice_is_in_address(signed_in, address, experiment):
    page = signed_in
    page.goto(f"{address}{experiment.get_absolute_url()}launch/")
    page.get_by_label("Start from").select_option("es-tiny-reckless")
    page.wait_for_url("**/launch/?preset=es-tiny-reckless")
    expect(page.locator("[name='es.sigma']")).to_have_value("0.03")
