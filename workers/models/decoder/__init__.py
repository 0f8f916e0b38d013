"""A KV-cached decoder for Qwen2- and Llama-shaped models: one model, or a whole population in one batch."""

from workers.models.decoder.decoder import Completion, Decoder, Prompt
from workers.models.decoder.loop import Measure, unmeasured
from workers.models.decoder.population import LowRank, Stacked
from workers.models.decoder.shape import Map, Shape, UnknownShape, shape_of, why_unknown
from workers.models.decoder.weights import Plain, Weights

__all__ = [
    "Completion",
    "Decoder",
    "LowRank",
    "Map",
    "Measure",
    "Plain",
    "Prompt",
    "Shape",
    "Stacked",
    "UnknownShape",
    "Weights",
    "shape_of",
    "unmeasured",
    "why_unknown",
]
