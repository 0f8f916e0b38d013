"""All GPUs that the driver shows now, read at most every few seconds.

The library stays open between two reads, because opening it may take seconds where nothing else holds the driver.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from workers.gpus.card import Card
from workers.gpus.nvml import NoDriver, Nvml, NvmlError, open_nvml
from workers.gpus.visible import make_card

READ_SECONDS = 2.0
REOPEN_SECONDS = 60.0


@dataclass(frozen=True)
class DriverReport:
    """GPUs of this machine. `errors` names those that the driver lists and cannot read, or says why it shows none."""

    cards: tuple[Card, ...] = ()
    errors: tuple[str, ...] = ()
    version: str = ""
    cuda: str = ""
    """Newest CUDA that the driver supports, such as 12.4; empty if it does not report it."""
    is_installed: bool = True


NO_DRIVER = DriverReport(is_installed=False)


class Driver:
    """The driver of this machine, for one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._nvml: Nvml | None = None
        self._opened_at = 0.0
        self._report: DriverReport | None = None
        self._read_at = 0.0

    def read(self) -> DriverReport:
        """Return what the driver shows, which is a few seconds old at most, or older while another thread reads it."""
        if self._report is not None and self._is_fresh():
            return self._report
        # The first threads wait for the first read; later ones do not wait for a driver that replies slowly.
        if not self._lock.acquire(blocking=self._report is None):
            return self._report or NO_DRIVER
        try:
            if self._report is None or not self._is_fresh():
                self._report, self._read_at = self._read(), time.monotonic()
            return self._report
        finally:
            self._lock.release()

    def _is_fresh(self) -> bool:
        return time.monotonic() - self._read_at < READ_SECONDS

    def _read(self) -> DriverReport:
        try:
            if self._nvml is None:
                self._nvml, self._opened_at = open_nvml(), time.monotonic()
            report = read_report(self._nvml)
        except NoDriver:
            return NO_DRIVER
        except NvmlError as error:
            report = DriverReport(errors=(str(error),))
        if report.errors and self._nvml is not None and time.monotonic() - self._opened_at >= REOPEN_SECONDS:
            # Only a library that is opened again shows a GPU that was lost and has come back.
            self._nvml.close()
            self._nvml = None
        return report


def read_report(nvml: Nvml) -> DriverReport:
    """Read all GPUs. Raise NvmlError if the driver does not even count them."""
    cards: list[Card] = []
    errors: list[str] = []
    for index in range(nvml.count()):
        try:
            handles = list(_devices(nvml, index))
        except NvmlError as error:
            errors.append(f"GPU {index}: {error}")
            continue
        read = [make_card(nvml, handle, index) for handle in handles]
        errors += [f"GPU {index}: the driver does not give its UUID" for card in read if not card.device]
        cards += [card for card in read if card.device]
    return DriverReport(tuple(cards), tuple(errors), *nvml.versions())


def _devices(nvml: Nvml, index: int) -> Iterator[ctypes.c_void_p]:
    """Yield a GPU, or its parts if it is divided: CUDA then uses these alone. Raise NvmlError."""
    handle = nvml.device(index)
    parts = nvml.parts(handle)
    if parts is None:
        yield handle
    elif parts:
        yield from parts
    else:
        raise NvmlError("MIG is on, and it has no parts; nvidia-smi mig -cgi makes some")


_driver = Driver()


def _forget_driver() -> None:
    global _driver
    _driver = Driver()


# A forked process has neither the threads that may hold the lock nor a library of its own.
os.register_at_fork(after_in_child=_forget_driver)


def read_driver() -> DriverReport:
    """Return what the driver of this machine shows. Never raises."""
    return _driver.read()


def read_cards() -> tuple[Card, ...]:
    """Return the GPUs that the driver of this machine shows, used or not; none without a driver."""
    return read_driver().cards
