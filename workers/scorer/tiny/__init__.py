"""Reward and cost models that the project trains itself in seconds, on generated requests and answers. No torch."""

from workers.scorer.tiny.made import made
from workers.scorer.tiny.network import Network

__all__ = ["Network", "made"]
