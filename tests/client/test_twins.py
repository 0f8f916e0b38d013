"""The client and the workers read the same from one machine, each with its own code (decision 58)."""

from __future__ import annotations

from dataclasses import asdict

from esweb_client.cli import csv_cells as client_cells
from esweb_client.machine import describe_environment
from esweb_client.usage import Usage
from workers import csv_cells
from workers.client.machine import environment
from workers.client.processes import Processes


def test_environments_are_equal() -> None:
    theirs = asdict(environment())
    # Only a launched run has pinned code.
    del theirs["code"]
    assert describe_environment() == theirs | {"gpus": [*theirs["gpus"]]}


def test_usages_have_the_same_metrics(monkeypatch) -> None:
    usage = Usage()
    monkeypatch.setattr("esweb_client.usage._uses_cuda", lambda: False)
    assert usage.read().keys() == Processes(1).read_usage().keys()


def test_cells_are_equal() -> None:
    cells = ["=1+1", "-3", "+1e5", "@x", "\tx", "x", 3, None, "＝1", "-x"]
    assert [*map(csv_cells.inert, cells)] == [*map(client_cells.inert, cells)]
    fields = {"origin": "import", "estimator": None}
    assert csv_cells.fields_text(fields) == client_cells.fields_text(fields)
