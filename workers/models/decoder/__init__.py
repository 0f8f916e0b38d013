"""A KV-cached decoder: one model, or a whole population in one batch.

It knows Qwen2, Qwen3, Llama, Mistral, Gemma 2 and the text models of Gemma 3; `unknown_reason` explains why it does not
know a model.
"""

from workers.models.decoder.decoder import (
    Completion,
    Decoder,
    Prompt,
    decode_texts,
    evaluating_decoder,
    has_captured_steps,
)
from workers.models.decoder.loop import Measure, unmeasured
from workers.models.decoder.population import LowRank, Stacked
from workers.models.decoder.shape import Map, Shape, UnknownShape, read_shape, shape_of, unknown_reason
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
    "decode_texts",
    "evaluating_decoder",
    "has_captured_steps",
    "read_shape",
    "shape_of",
    "unknown_reason",
    "unmeasured",
]
