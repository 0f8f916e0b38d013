"""Addresses of services."""

from __future__ import annotations

from django.urls import path

from runs.service_registry.views import services

urlpatterns = [
    path("services/", services, name="services"),
]
