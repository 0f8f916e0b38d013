"""The GPUs that this machine offers runs, and the reason why it does not offer others, in words for its console."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cases import each_case
from tests.workers.gpus.fake_driver import FakeDriver, FakeGpu, use_driver
from workers.gpus import Card, DriverReport, describe_offer, offer_cards
from workers.gpus.offer import NONE_CONFIGURED, choose_cards
from workers.gpus.torch_build import TorchBuild, installed_torch, parse_version_file

A, B = (Card(f"GPU-{name}{name}", n, "NVIDIA H200", 143_771) for n, name in enumerate("ab"))
TWO = DriverReport((A, B), (), "580.65.06", "13.0")
CUDA, CPU = TorchBuild("2.13.0", "13.0"), TorchBuild("2.13.0+cpu")
OLD = DriverReport((A, B), (), "550.54.15", "12.4")
NONE = DriverReport(is_installed=False)
LOST = DriverReport((B,), ("GPU 0: it does not reply any more",), "580.65.06", "13.0")


@each_case(
    ("configured", "report", "torch", "visible", "cards", "reason"),
    [
        (None, TWO, CUDA, None, (A, B), ""),
        ([], TWO, CUDA, None, (), NONE_CONFIGURED),
        (["1"], TWO, CUDA, None, (B,), ""),
        (["GPU-bb", "0"], TWO, CUDA, None, (A, B), ""),
        (["GPU-b"], TWO, CUDA, None, (B,), ""),
        (["1", "2"], TWO, CUDA, None, (B,), "the config of the cluster names GPU 2, and the driver shows 0, 1"),
        (["2"], TWO, CUDA, None, (), "the config of the cluster names GPU 2, and the driver shows 0, 1"),
        (None, TWO, CUDA, "1", (B,), "CUDA_VISIBLE_DEVICES=1 hides others; start esweb without it to use them"),
        (None, TWO, CUDA, "GPU-b,0", (B, A), ""),
        (None, TWO, CUDA, "0,7,1", (A,), "CUDA_VISIBLE_DEVICES=0,7,1 hides others; start esweb without it to use them"),
        (None, TWO, CUDA, "", (), "CUDA_VISIBLE_DEVICES= hides all; start esweb without it to use them"),
        (None, TWO, CPU, None, (), "torch 2.13.0+cpu was built without CUDA; replace it by make setup TORCH=cuda"),
        (["0"], TWO, CPU, None, (), "torch 2.13.0+cpu was built without CUDA; replace it by make setup TORCH=cuda"),
        (None, TWO, None, None, (), "torch is not installed; install it by make setup TORCH=cuda"),
        (
            None, OLD, CUDA, None, (),
            "the NVIDIA driver 550.54.15 supports CUDA 12.4, and torch 2.13.0 needs 13.0; update the driver",
        ),
        (["0"], OLD, CUDA, None, (A,), ""),
        (None, OLD, TorchBuild("2.13.0", "12.8"), None, (A, B), ""),
        (None, LOST, CUDA, None, (B,), "GPU 0: it does not reply any more"),
        (None, DriverReport((), (), "580.65.06", "13.0"), CUDA, None, (), "the NVIDIA driver shows no GPU"),
        (None, DriverReport(errors=("not allowed",)), CPU, None, (), "not allowed"),
        (None, NONE, CPU, None, (), "this machine has no NVIDIA driver"),
        (["0", "GPU-x", "1"], NONE, CPU, None, (Card("0", 0), Card("GPU-x", 2), Card("1", 1)), ""),
    ],
)  # fmt: skip
def test_offer_has_the_cards_that_runs_can_use_or_says_why_not(
    configured: list[str] | None,
    report: DriverReport,
    torch: TorchBuild | None,
    visible: str | None,
    cards: tuple[Card, ...],
    reason: str,
) -> None:
    offer = choose_cards(configured, report, torch, {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible})
    assert (offer.cards, offer.reason, offer.has_driver) == (cards, reason, report is not NONE)


@each_case(
    ("report", "line"),
    [
        (NONE, ""),
        (DriverReport((A,)), "GPUs for runs: NVIDIA H200 (151 GB)"),
        (TWO, "GPUs for runs: 2 × NVIDIA H200 (151 GB)"),
        (
            DriverReport((A, Card("GPU-t", 1, "Tesla T4", 15_360, 12_000))),
            "GPUs for runs: NVIDIA H200 (151 GB), Tesla T4 (16 GB), 13 GB of GPU 1 in use",
        ),
        (LOST, "GPUs for runs: NVIDIA H200 (151 GB); GPU 0: it does not reply any more"),
        (DriverReport(errors=("not allowed",)), "GPUs for runs: none: not allowed"),
    ],
)
def test_offer_is_one_line_for_the_console(report: DriverReport, line: str) -> None:
    assert describe_offer(choose_cards(None, report, CUDA, {})) == line


def test_offer_of_this_machine_is_that_of_its_driver_torch_and_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    use_driver(monkeypatch, FakeDriver(FakeGpu("GPU-aa"), FakeGpu("GPU-bb")))
    monkeypatch.setattr("workers.gpus.offer.installed_torch", lambda: CUDA)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert offer_cards().cards == (B,)
    assert offer_cards([]).cards == ()


@each_case(
    ("text", "build"),
    [
        ("__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n", CPU),
        ("__version__ = '2.13.0'\ndebug = False\ncuda: Optional[str] = '13.0'\n", CUDA),
        ("__version__ = \"2.13.0\"\ncuda = '13.0'\n", CUDA),
        ("", TorchBuild("")),
    ],
)
def test_build_of_torch_is_read_from_its_version_file(text: str, build: TorchBuild) -> None:
    assert parse_version_file(text) == build


def test_torch_that_is_installed_here_is_read_without_importing_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text("raise AssertionError('imported')")
    (tmp_path / "torch/version.py").write_text("__version__ = '9.1'\ncuda = '14.0'\n")
    assert installed_torch() == TorchBuild("9.1", "14.0")
    (tmp_path / "torch/version.py").unlink()
    assert installed_torch() is None
