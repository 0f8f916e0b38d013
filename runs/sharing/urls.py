"""Addresses of shared pages."""

from __future__ import annotations

from django.urls import path

from runs.sharing.views import share, shared_chart, shared_page, shared_section

urlpatterns = [
    path("shared/<str:text>/", shared_page, name="shared"),
    path("shared/<str:text>/chart/", shared_chart, name="shared-chart"),
    path("shared/<str:text>/section/", shared_section, name="shared-section"),
    path("share/", share, name="share"),
]
