"""Reward and cost models that the project trains itself in seconds, on generated requests and answers. No torch."""

from workers.scorer.tiny.network import Network
from workers.scorer.tiny.trained_network import load_network

__all__ = ["Network", "load_network"]
