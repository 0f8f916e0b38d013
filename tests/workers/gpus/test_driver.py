"""The GPUs that the driver shows: none, one, two, one gone, one full, one divided, and none by lack of permission."""

from __future__ import annotations

import threading

import pytest

from tests.cases import each_case
from tests.workers.gpus.fake_driver import GPU_IS_LOST, NO_PERMISSION, FakeDriver, FakeGpu, use_driver
from workers.gpus import Card, DriverReport, driver, nvml, read_cards, read_driver

H200 = FakeGpu("GPU-a")
FULL = FakeGpu("GPU-b", used_mb=143_000, processes={4711: 142_000, 4712: 500})
FIRST = Card("GPU-a", 0, "NVIDIA H200", 143_771)
SECOND = Card("GPU-b", 1, "NVIDIA H200", 143_771, 143_000, {4711: 142_000, 4712: 500})
UNKNOWN = "the NVIDIA driver answers with error 99 (nvmlReturn_t); nvidia-smi says more"
LOST = "does not reply any more; dmesg says more, and a restart of the machine may help"


@each_case(
    ("fake", "cards", "errors"),
    [
        (FakeDriver(), (), ()),
        (FakeDriver(H200), (FIRST,), ()),
        (FakeDriver(H200, FULL), (FIRST, SECOND), ()),
        (FakeDriver(FakeGpu("GPU-z", code=GPU_IS_LOST), FULL), (SECOND,), (f"GPU 0: it {LOST}",)),
        (
            FakeDriver(H200, code=NO_PERMISSION),
            (),
            ("this user may not use the NVIDIA driver; ls -l /dev/nvidia* shows who may",),
        ),
        (
            FakeDriver(H200, code=99),
            (),
            ("the NVIDIA driver answers with error 99 (nvmlReturn_t); nvidia-smi says more",),
        ),
        (
            FakeDriver(
                FakeGpu("GPU-m", parts=[FakeGpu("MIG-1", memory_mb=18_000), FakeGpu("MIG-2", memory_mb=18_000)])
            ),
            (Card("MIG-1", 0, "NVIDIA H200", 18_000), Card("MIG-2", 0, "NVIDIA H200", 18_000)),
            (),
        ),
        (
            FakeDriver(FakeGpu("GPU-m", parts=[])),
            (),
            ("GPU 0: MIG is on, and it has no parts; nvidia-smi mig -cgi makes some",),
        ),
        (FakeDriver(FakeGpu("")), (), ("GPU 0: the driver does not give its UUID",)),
    ],
)
def test_driver_shows_cards_and_names_those_that_it_cannot_read(
    fake: FakeDriver, cards: tuple[Card, ...], errors: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_driver(monkeypatch, fake)
    report = read_driver()
    assert (report.cards, report.errors, report.is_installed) == (cards, errors, True)
    assert read_cards() == cards


@each_case("library", ["", "libnosuch.so.1"])
def test_machine_without_driver_has_no_cards(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_driver", driver.Driver())
    monkeypatch.setenv(nvml.LIBRARY_VARIABLE, library)
    assert read_driver() == DriverReport(is_installed=False)


def test_driver_of_an_old_machine_shows_cards_without_what_it_cannot_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    use_driver(monkeypatch, FakeDriver(FULL))
    for name in ("MemoryInfo_v2", "MigMode", "ComputeRunningProcesses_v3"):
        monkeypatch.delattr(FakeDriver, f"nvmlDeviceGet{name}")
    assert read_cards() == (Card("GPU-b", 0, "NVIDIA H200"),)


def test_card_that_disappears_is_gone_and_comes_back_with_a_new_start_of_the_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = use_driver(monkeypatch, FakeDriver(H200, FULL))
    assert read_cards() == (FIRST, SECOND)
    fake.gpus.remove(H200)
    assert read_driver() == DriverReport((SECOND,), (f"GPU 0: it {LOST}",), "580.65.06", "13.0")
    fake.gpus.insert(0, H200)
    monkeypatch.setattr(fake, "known", [FULL])
    monkeypatch.setattr(driver, "REOPEN_SECONDS", 0.0)
    fake.known.insert(0, FakeGpu("GPU-a", code=GPU_IS_LOST))
    assert [len(read_cards()) for _ in range(2)] == [1, 2]
    assert fake.starts == 2


def test_cards_are_read_once_in_a_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = use_driver(monkeypatch, FakeDriver(H200), read_seconds=1e9)
    assert read_cards() == (FIRST,)
    fake.gpus.clear()
    fake.known.clear()
    assert read_cards() == (FIRST,)


def test_driver_that_hangs_keeps_no_thread_but_one_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    use_driver(monkeypatch, FakeDriver(H200))
    assert read_cards() == (FIRST,)
    hangs, goes_on = threading.Event(), threading.Event()

    def hang(*_: object) -> int:
        hangs.set()
        goes_on.wait()
        return NO_PERMISSION

    monkeypatch.setattr(FakeDriver, "nvmlDeviceGetCount_v2", hang)
    reader = threading.Thread(target=read_cards)
    reader.start()
    hangs.wait()
    assert read_cards() == (FIRST,)
    goes_on.set()
    reader.join()
    assert read_cards() == ()
