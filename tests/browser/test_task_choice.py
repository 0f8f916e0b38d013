"""The launch form shows the options of the chosen task; an administrator's page is drawn whole."""

from playwright.sync_api import expect

from runs.models import Cluster, Run


def test_task_choice_shows_its_options(signed_in, address, experiment, complaints):
    page = signed_in
    page.goto(f"{address}{experiment.get_absolute_url()}launch/?preset=es-micro")
    page.locator("[name='task.name']").select_option("own")
    expect(page.locator("textarea[name='task.own.options']")).to_be_visible()
    page.get_by_text("More settings: Task").click()
    expect(page.locator("[name='task.reward_seconds']")).to_be_visible()
    expect(page.locator("[name='task.countdown.train_file']")).to_be_hidden()
    page.locator("[name='task.name']").select_option("countdown")
    expect(page.locator("[name='task.countdown.train_file']")).to_be_visible()
    expect(page.locator("[name='task.own.path']")).to_be_hidden()


def test_invalid_own_task_is_reported_at_its_field(signed_in, address, experiment, complaints):
    page = signed_in
    page.goto(f"{address}{experiment.get_absolute_url()}launch/?preset=es-micro")
    page.locator("[name='task.name']").select_option("own")
    page.locator("[name='task.own.path']").fill("my_task:Task")
    page.locator("[name='task.own.options']").fill("{words")
    page.get_by_role("button", name="Launch").click()
    page.get_by_role("alert").get_by_text("must be an object, not '{words'").wait_for()
    page.locator("[name='task.own.options']").fill('{"words": 3}')
    page.get_by_role("button", name="Launch").click()
    page.get_by_role("alert").get_by_text("does not allow custom tasks").wait_for()
    expect(page.locator("[name='task.own.options']")).to_have_value('{"words": 3}')
    assert not Run.objects.exists()
    # The form is answered with 400, which the browser's console reports.
    assert [c for c in complaints if "400" not in c] == []
    complaints.clear()


def test_admin_pages_work_under_content_security_policy(signed_in, address, ada, complaints):
    ada.is_staff = ada.is_superuser = True
    ada.save()
    page = signed_in
    page.goto(f"{address}/admin/runs/cluster/{Cluster.objects.get().pk}/change/")
    page.locator("[name='config']").fill('{"task_paths": ["tasks"]}')
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("must be absolute and without ..").wait_for()
