"""Weights to examine: a base and a tuned checkpoint, tensor by tensor, from memory-mapped files."""

from workers.probes.weights.files import WeightFiles, WeightsDiffer, open_pair
from workers.probes.weights.subject import Subject

__all__ = ["Subject", "WeightFiles", "WeightsDiffer", "open_pair"]
