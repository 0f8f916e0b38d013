"""Measure whether a model's answers have collapsed. Texts go in, shares and ratios come out; a base model sets the
limits.

All answers are looked at, each sample of each prompt. Only what answers to different prompts share counts as shared: a
prompt that a file holds 52 times has 52 equal answers, and that is no collapse.
"""

from workers.analysis.collapse.answers import SPECIAL_TOKEN, Answer, distinct_answers, first_per_prompt, words_of
from workers.analysis.collapse.findings import DETECTORS, Detector, Finding, findings
from workers.analysis.collapse.languages import differs, language_of
from workers.analysis.collapse.measures import BYTES, MAX_ANSWERS, TOKENS, Example, Measures, measure
from workers.analysis.collapse.response_flags import ROLE_MARKER

__all__ = [
    "BYTES",
    "DETECTORS",
    "MAX_ANSWERS",
    "ROLE_MARKER",
    "SPECIAL_TOKEN",
    "TOKENS",
    "Answer",
    "Detector",
    "Example",
    "Finding",
    "Measures",
    "differs",
    "distinct_answers",
    "findings",
    "first_per_prompt",
    "language_of",
    "measure",
    "words_of",
]
