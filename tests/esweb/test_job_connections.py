"""Jobs wait longer than pages for the database to accept a connection."""

from __future__ import annotations

from celery.signals import worker_process_init
from django.db import connection

from esweb.celery import JOB_CONNECT_SECONDS, wait_longer_for_connections


def test_process_of_a_worker_waits_longer_than_a_page(monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", {**connection.settings_dict["OPTIONS"]})
    page = connection.get_connection_params()["connect_timeout"]

    wait_longer_for_connections()

    assert page < connection.get_connection_params()["connect_timeout"] == JOB_CONNECT_SECONDS
    assert wait_longer_for_connections in [receiver for _, receiver in live_receivers()]


def test_longer_limit_in_the_address_of_the_database_stays(monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", {"connect_timeout": "60"})

    wait_longer_for_connections()

    assert connection.settings_dict["OPTIONS"]["connect_timeout"] == 60


def live_receivers():
    return [(key, reference() or reference) for key, reference in worker_process_init.receivers]
