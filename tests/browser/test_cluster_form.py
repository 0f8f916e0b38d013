"""The form of a new cluster shows the fields that the selected kind uses."""

from __future__ import annotations

from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

FIELDS = ("Address", "Partition", "Modules", "Dashboard", "Token file", "Python", "Variables", "More")
USED = {
    "local": {"More"},
    "slurm": {"Address", "Partition", "Modules", "Python", "Variables", "More"},
    "ray": {"Dashboard", "Token file", "Python", "Variables", "More"},
}


def test_new_cluster_has_fields_of_the_selected_kind(signed_in: Page, address: str, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(is_superuser=True, is_staff=True)
    signed_in.goto(f"{address}/settings/clusters/new/")
    for kind, used in USED.items():
        signed_in.get_by_label("Kind").select_option(kind)
        for label in FIELDS:
            expect(signed_in.get_by_label(label, exact=True), f"{label} of {kind}").to_be_visible(visible=label in used)
