"""The NVIDIA GPUs of this machine, as its driver shows them."""

from workers.gpus.card import Card
from workers.gpus.driver import DriverReport, read_cards, read_driver
from workers.gpus.offer import INSTALL_CUDA, Offer, describe_offer, offer_cards
from workers.gpus.visible import Gpus, gpus

__all__ = [
    "INSTALL_CUDA",
    "Card",
    "DriverReport",
    "Gpus",
    "Offer",
    "describe_offer",
    "gpus",
    "offer_cards",
    "read_cards",
    "read_driver",
]
