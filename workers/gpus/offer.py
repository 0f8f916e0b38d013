"""The GPUs that this machine offers runs, and why it does not offer others."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workers.gpus.card import Card
from workers.gpus.driver import DriverReport, read_driver
from workers.gpus.torch_build import TorchBuild, installed_torch
from workers.gpus.visible import VISIBLE

INSTALL_CUDA = "make setup TORCH=cuda"
GB, MB = 10**9, 2**20
NO_DRIVER_HERE = "this machine has no NVIDIA driver"
NONE_CONFIGURED = 'the config of the cluster has "gpus": [], which an admin can change (Settings → Clusters)'
SHOWN_USED_GB = 1.0
"""Memory in use below which a GPU counts as free: what a driver or a desktop takes."""


@dataclass(frozen=True)
class Offer:
    """GPUs that runs may use, and the reason why there are no others; empty if runs may use all."""

    cards: tuple[Card, ...] = ()
    reason: str = ""
    has_driver: bool = False


def offer_cards(configured: Sequence[str] | None = None) -> Offer:
    """Return the GPUs of this machine that runs may use now.

    `configured`: indices or UUIDs in the cluster's config; None for all that the driver shows, an empty list for none.
    """
    report = read_driver()
    return choose_cards(configured, report, installed_torch() if report.is_installed else None, os.environ)


def choose_cards(
    configured: Sequence[str] | None, report: DriverReport, torch: TorchBuild | None, environment: Mapping[str, str]
) -> Offer:
    """Choose from what the driver shows those that torch can use, that CUDA sees, and that the config names."""
    if not report.is_installed:
        # The jobs may see GPUs that this process does not, as in another container; the config is trusted.
        named = _named_cards(configured or ())
        return Offer(named, "" if named else NO_DRIVER_HERE)
    if configured is not None and not configured:
        return Offer((), NONE_CONFIGURED, has_driver=True)
    if not report.cards:
        return Offer((), "; ".join(report.errors) or "the NVIDIA driver shows no GPU", has_driver=True)
    if reason := _torch_problem(torch, report, is_trusted=configured is not None):
        return Offer((), reason, has_driver=True)
    visible, reasons = _visible_cards(report.cards, environment.get(VISIBLE))
    reasons = [*report.errors, *reasons]
    if configured is not None:
        chosen = [card for card in visible if any(card.is_called(name) for name in configured)]
        lacking = [name for name in configured if not any(card.is_called(name) for card in visible)]
        if lacking:
            shown = ", ".join(str(card.index) for card in visible) or "none"
            reasons.append(f"the config of the cluster names GPU {', '.join(lacking)}, and the driver shows {shown}")
    else:
        chosen = visible
    return Offer(tuple(chosen), "; ".join(reasons), has_driver=True)


def describe_offer(offer: Offer) -> str:
    """Return the offer as one line for the console; empty on a machine without a driver."""
    if not offer.has_driver:
        return ""
    counts = Counter((card.name, card.memory_mb) for card in offer.cards)
    texts = [f"{f'{count} × ' if count > 1 else ''}{name} ({_gb(mb)} GB)" for (name, mb), count in counts.items()]
    used = [f"{_gb(card.used_mb)} GB of GPU {card.index} in use" for card in offer.cards if _is_used(card)]
    if not texts:
        return f"GPUs for runs: none: {offer.reason}"
    return f"GPUs for runs: {'; '.join(filter(None, (', '.join([*texts, *used]), offer.reason)))}"


def _named_cards(names: Sequence[str]) -> tuple[Card, ...]:
    """Return GPUs that only the config knows, each with a number of its own."""
    numbers = {int(name) for name in names if name.isdecimal()}
    others = (number for number in itertools.count() if number not in numbers)
    return tuple(Card(name, int(name) if name.isdecimal() else next(others)) for name in names)


def _torch_problem(torch: TorchBuild | None, report: DriverReport, *, is_trusted: bool) -> str:
    """Return why torch can use no GPU here; empty if nothing speaks against it.

    A driver can be too old by its number and work all the same, with NVIDIA's package for forward compatibility: a
    config that names GPUs is trusted there.
    """
    if torch is None:
        return f"torch is not installed; install it by {INSTALL_CUDA}"
    if not torch.cuda:
        return f"torch {torch.version} was built without CUDA; replace it by {INSTALL_CUDA}"
    # Within a major version, CUDA's libraries run on older drivers.
    if report.cuda and not is_trusted and _major(report.cuda) < _major(torch.cuda):
        return (
            f"the NVIDIA driver {report.version} supports CUDA {report.cuda}, and torch {torch.version} needs "
            f"{_major(torch.cuda)}.0; update the driver"
        )
    return ""


def _visible_cards(cards: Sequence[Card], visible: str | None) -> tuple[list[Card], list[str]]:
    """Return (those that CUDA_VISIBLE_DEVICES names, in its order; why others are left out)."""
    if visible is None:
        return list(cards), []
    chosen: list[Card] = []
    for name in filter(None, (part.strip() for part in visible.split(","))):
        if not (named := [card for card in cards if card.is_called(name)]):
            break
        chosen += [card for card in named if card not in chosen]
    if len(chosen) == len(cards):
        return chosen, []
    hidden = f"{VISIBLE}={visible} hides {'others' if chosen else 'all'}; start esweb without it to use them"
    return chosen, [hidden]


def _major(version: str) -> int:
    return int(version.partition(".")[0])


def _is_used(card: Card) -> bool:
    return card.used_mb * MB >= SHOWN_USED_GB * GB


def _gb(mb: int) -> str:
    return f"{mb * MB / GB:.0f}"
