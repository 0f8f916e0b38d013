"""A server may be killed before `up` has begun to restart servers."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.db import OperationalError
from pytest_django.fixtures import Settings

from esweb.management.commands.up import Command


def test_database_that_goes_away_is_reported_in_a_sentence(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: object) -> int:
        raise OperationalError("server closed the connection unexpectedly\n\tThis probably means ...")

    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(Command, "servers", lambda self: contextlib.nullcontext())
    monkeypatch.setattr(Command, "run", run)
    with pytest.raises(
        CommandError, match=r"^The database became unavailable while esweb was starting: server closed the conn"
    ):
        Command().handle(port=0, host="127.0.0.1")
