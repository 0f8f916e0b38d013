"""Evolution Strategies: the loop in `train.py`, and one module a part of it."""

from workers.engines.es.train import train

__all__ = ["train"]
