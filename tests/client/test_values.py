"""Values of a training become numbers or plain JSON, whatever they are."""

from __future__ import annotations

import argparse
import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import esweb_client
from esweb_client.lines import metric_lines
from esweb_client.state import Section, State
from esweb_client.values import to_json, to_object
from tests.client.spool_files import only_spool, read_records
from workers.records import unpack
from workers.records.lines import NON_FINITE


class Hostile:
    """An object of which every use raises an error."""

    def __float__(self) -> float:
        raise RuntimeError("no float")

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def parsed(values: dict[Any, Any]) -> dict[str, float]:
    """Return the values of a record as the server reads them."""
    (line,) = metric_lines(1, values, None)
    return unpack({"seq": 0, **json.loads(line)}).record.values  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (np.float32(0.5), 0.5),
        (np.int64(3), 3.0),
        (np.array([2.5]), 2.5),
        (True, 1.0),
        (Decimal("1.25"), 1.25),
        (Fraction(1, 4), 0.25),
        (2**70, float(2**70)),
    ],
    ids=["float32", "int64", "array", "bool", "decimal", "fraction", "large"],
)
def test_numbers_of_any_type_are_recorded(value: Any, number: float) -> None:
    assert parsed({"x": value}) == {"x": number}


@given(st.dictionaries(st.text(min_size=1, max_size=20).filter(str.isprintable), st.floats(), min_size=1))
def test_server_reads_the_floats_that_were_logged(values: dict[str, float]) -> None:
    read = parsed(values)
    assert {key: repr(value) for key, value in read.items()} == {key: repr(value) for key, value in values.items()}


def test_nested_values_have_joined_keys() -> None:
    assert parsed({"a": {"b": {"c": 1.0}, "d": 2}}) == {"a/b/c": 1.0, "a/d": 2.0}


@pytest.mark.parametrize(
    "value",
    ["text", b"12", None, object(), Hostile(), 10**400, [1, 2], np.zeros(3), 1j],
    ids=["text", "bytes", "none", "object", "hostile", "huge", "list", "array", "complex"],
)
def test_value_that_is_no_number_is_dropped(value: Any, capsys: pytest.CaptureFixture[str]) -> None:
    esweb_client.notices.reset_notices()
    for _ in range(2):
        assert parsed({"good": 1.0, "bad": value}) == {"good": 1.0}
    assert capsys.readouterr().err.count("'bad' is dropped") == 1


@pytest.mark.parametrize("key", ["", "k" * 251, "a\nb", "\ud800"], ids=["empty", "long", "control", "surrogate"])
def test_key_that_the_server_refuses_is_dropped(key: str) -> None:
    assert parsed({"good": 1.0, key: 2.0}) == {"good": 1.0}


def test_keys_with_signs_of_formats_are_recorded() -> None:
    values = {"100%": 1.0, "%s %r": 2.0, '"quoted"': 3.0, "\\": 4.0}
    assert parsed(values) == values


def test_many_keys_are_spread_over_lines() -> None:
    lines = metric_lines(1, {f"k{number}": 1.0 for number in range(12_000)}, {"tokens": 5})
    assert [len(json.loads(line)["values"]) for line in lines] == [5000, 5000, 2000]
    assert all(json.loads(line)["axes"] == {"tokens": 5.0} for line in lines)


def test_cycle_in_values_is_dropped() -> None:
    values: dict[str, Any] = {"good": 1.0}
    values.update({f"self{number}": values for number in range(20)})
    assert parsed(values) == {"good": 1.0}


def test_config_of_any_objects_is_strict_json() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    config = {
        "path": Path("/data"), "set": {2, 1}, "nan": math.nan, "huge": 10**400, "array": np.arange(3), 5: "five",
        "cycle": cycle, "hostile": Hostile(), "type": int, "surrogate": "\ud800", "nul": "a\x00b",
    }  # fmt: skip
    plain = to_json({**config, "hostile": None})
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert (plain["path"], plain["set"], plain["nan"]) == ("/data", [1, 2], "NaN")
    assert (plain["array"], plain["5"], plain["type"]) == ([0, 1, 2], "five", "int")
    assert to_json(config) == "<dict>"


def test_namespace_is_a_config() -> None:
    assert to_object(argparse.Namespace(lr=1e-5, name="x")) == {"lr": 1e-5, "name": "x"}


def test_config_merges_changes() -> None:
    state = State({"config": {"a": 1}})
    config = Section(state, "config", saves=False)
    config.b = 2
    config.update({"c": 3}, d=4)
    config.update(5)
    assert dict(config) == {"a": 1, "b": 2, "c": 3, "d": 4}
    assert config.d == config["d"] == 4
    first = state.take_changes()
    config["a"] = 9
    state.restore_changes(first)
    assert state.take_changes()["config"] | {"a": 9} == state.values["config"] | {"a": 9}


def test_no_method_raises(spools: Path) -> None:
    run: Any = esweb_client.init(mode="offline", dir=spools, system_metrics_seconds=0, capture_git=False)
    run.log("no mapping")
    run.log({"x": 1.0}, step="five")
    run.log({"x": 1.0}, step=2**63)
    run.log({"x": 1.0}, step=1.5)
    run.log_responses(["a", "b"], step=1, prompts=["only one"])
    run.log_responses(7, step=1)
    run.log_population([object(), (1,), {"seed": "x"}], step=1)
    run.log_checkpoint("../elsewhere", step=1)
    run.log_checkpoint(spools / "missing", step=1)
    run.log_status("p" * 50, Hostile())
    run.alert(Hostile())
    run.config.update(Hostile(), x=Hostile())
    run.log({"x": 2.0}, step=np.int64(7))
    run.log({"x": 3.0})
    run.finish(exit_code=0, state="unknown")
    run.log({"x": 4.0})
    records = read_records(only_spool(spools))
    assert [(r["step"], r["values"]) for r in records if r["kind"] == "metric"] == [(7, {"x": 2.0}), (8, {"x": 3.0})]
    assert {r["kind"] for r in records} == {"metric", "environment"}


def test_names_of_non_finite_numbers_are_the_servers() -> None:
    (line,) = metric_lines(0, {"a": math.nan, "b": math.inf, "c": -math.inf}, None)
    assert set(json.loads(line)["values"].values()) == set(NON_FINITE)
