"""URLs of services."""

from __future__ import annotations

from django.urls import path
from django.utils.translation import gettext_noop as _

from runs.http import PalettePage, register_pages
from runs.service_registry.views import services

register_pages(PalettePage("services", _("Services")))

urlpatterns = [
    path("services/", services, name="services"),
]
