"""Probes of behaviour: what a model answers, and what its loss is, with other weights than its own."""

from workers.probes.behaviour.curvature import curvature
from workers.probes.behaviour.interpolation import End, interpolation
from workers.probes.behaviour.perturbation import perturbation
from workers.probes.behaviour.prompted_model import PromptedModel

__all__ = ["End", "PromptedModel", "curvature", "interpolation", "perturbation"]
