"""The decoder on a GPU: captured steps over slots that are refilled as answers end. Needs Triton."""

from workers.models.decoder.gpu.batch import Answer, ContinuousBatch, Query, common_beginning, slots_for
from workers.models.decoder.gpu.captured import CapturedStep
from workers.models.decoder.gpu.decoder import CapturedDecoder
from workers.models.decoder.gpu.last_logits import last_logits
from workers.models.decoder.gpu.step import Sizes, Step, rotary_tables
from workers.models.decoder.gpu.weights import JoinedWeights, MemberTerms

__all__ = [
    "Answer",
    "CapturedDecoder",
    "CapturedStep",
    "ContinuousBatch",
    "JoinedWeights",
    "MemberTerms",
    "Query",
    "Sizes",
    "Step",
    "common_beginning",
    "last_logits",
    "rotary_tables",
    "slots_for",
]
