"""The CUDA context is created behind the imports, and nowhere without a driver or a GPU."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from tests.cases import each_case
from workers.gpus import context


class Driver:
    """The driver's library, up to the call that fails."""

    def __init__(self, failing: str) -> None:
        self.calls: list[str] = []
        self._failing = failing

    def __getattr__(self, name: str) -> Any:
        def call(*_arguments: object) -> int:
            self.calls.append(name)
            return 100 if name == self._failing else context.SUCCESS

        return call


@each_case(
    ("failing", "calls"),
    [
        ("", ["cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain"]),
        ("cuInit", ["cuInit"]),
        ("cuDeviceGet", ["cuInit", "cuDeviceGet"]),
    ],
    ids=["one GPU", "driver without a GPU", "no visible GPU"],
)
def test_context_is_that_of_the_first_visible_gpu(
    monkeypatch: pytest.MonkeyPatch, failing: str, calls: list[str]
) -> None:
    driver = Driver(failing)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    context.begin_context().join()
    assert driver.calls == calls


def test_machine_without_a_driver_has_no_context(monkeypatch: pytest.MonkeyPatch) -> None:
    names = []

    def find_nothing(name: str) -> Any:
        names.append(name)
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", find_nothing)
    context.begin_context().join()
    assert names == [context.LIBRARY]
