from django.contrib.auth.models import User
from playwright.sync_api import expect

from runs.models import Experiment, Run
from tests.browser.page_idle import arrived
from workers.config import preset


def test_from_signing_in_to_a_cancelled_run(page, address, ada, complaints):
    ada.set_password("a long password")
    ada.save()

    page.goto(address)
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("a long password")
    page.get_by_role("button", name="Sign in").click()
    arrived(page, f"{address}/")

    page.get_by_role("button", name="New experiment").click()
    page.get_by_label("Name", exact=True).fill("Concise")
    page.get_by_label("Question", exact=True).fill("Does it learn?")
    page.get_by_role("button", name="Make it").click()
    page.get_by_role("heading", name="Concise").wait_for()
    assert Experiment.objects.get().owner == User.objects.get(username="ada")

    page.get_by_role("link", name="Launch runs").first.click()
    arrived(page, "**/launch/**")
    page.get_by_label("Start from").select_option("grpo-micro")
    expect(page.locator("#part-es")).to_be_hidden()
    steps = preset("grpo-micro").config["grpo"]["max_steps"]
    expect(page.locator("[name='grpo.max_steps']")).to_have_value(str(steps))
    page.get_by_label("Name", exact=True).fill("first one")
    page.get_by_role("button", name="Launch").click()

    page.get_by_role("heading", name="first one").wait_for()
    run = Run.objects.get()
    arrived(page, f"{address}{run.get_absolute_url()}")

    page.get_by_role("button", name="Cancel run").click()
    page.get_by_role("button", name="Cancel the run").click()
    page.get_by_text("Asked first one to stop").wait_for()
    run.refresh_from_db()
    assert run.state == "cancelled"


def test_a_wrong_form_comes_back_as_it_was_with_its_problems(signed_in, address, experiment, complaints):
    page = signed_in
    page.goto(f"{address}{experiment.get_absolute_url()}launch/?preset=es-tiny")
    page.locator("[name='es.sigma']").fill("tiny")
    page.get_by_text("More of Evolution Strategies").click()
    page.locator("[name='es.rows']").fill("-1")
    page.get_by_role("button", name="Launch").click()
    page.get_by_text("Nothing was launched.").wait_for()
    expect(page.locator("[name='es.sigma']")).to_have_value("tiny")
    # A problem in a folded part opens it.
    expect(page.locator("[name='es.rows']")).to_be_visible()
    # The form is answered with 400, and the browser's console says so.
    assert [c for c in complaints if "400" not in c] == []
    complaints.clear()


def test_switching_the_method_shows_its_own_fields_and_forgets_nothing(signed_in, address, experiment):
    page = signed_in
    page.goto(f"{address}{experiment.get_absolute_url()}launch/?preset=es-tiny")
    page.locator("[name='es.sigma']").fill("0.5")
    page.get_by_label("GRPO").check()
    expect(page.locator("#part-grpo")).to_be_visible()
    expect(page.locator("#part-es")).to_be_hidden()
    page.get_by_label("Evolution Strategies").check()
    expect(page.locator("[name='es.sigma']")).to_have_value("0.5")


def test_choosing_a_preset_is_an_address(signed_in, address, experiment):
    page = signed_in
    page.goto(f"{address}{experiment.get_absolute_url()}launch/")
    page.get_by_label("Start from").select_option("es-tiny-reckless")
    page.wait_for_url("**/launch/?preset=es-tiny-reckless")
    expect(page.locator("[name='es.sigma']")).to_have_value("0.03")
