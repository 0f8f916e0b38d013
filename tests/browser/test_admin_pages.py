"""An administrator's page is drawn whole."""

from runs.models import Cluster


def test_admin_pages_work_under_content_security_policy(signed_in, address, ada, complaints):
    ada.is_staff = ada.is_superuser = True
    ada.save()
    page = signed_in
    page.goto(f"{address}/admin/runs/cluster/{Cluster.objects.get().pk}/change/")
    page.locator("[name='config']").fill('{"task_paths": ["tasks"]}')
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("must be absolute and without ..").wait_for()
