"""Have a model's answers collapsed? Texts in, shares and ratios out; what is too much is told against a base model.

All answers are looked at, each sample of each prompt. Only what answers to different prompts share counts as shared: a
prompt that a file holds 52 times has 52 equal answers, and that is no collapse.
"""

from workers.analysis.collapse.answers import Answer, different, one_a_prompt, words_of
from workers.analysis.collapse.findings import DETECTORS, Detector, Finding, findings
from workers.analysis.collapse.languages import differs, language_of
from workers.analysis.collapse.measures import ANSWERS_AT_MOST, BYTES, TOKENS, Example, Measures, measure

__all__ = [
    "ANSWERS_AT_MOST",
    "BYTES",
    "DETECTORS",
    "TOKENS",
    "Answer",
    "Detector",
    "Example",
    "Finding",
    "Measures",
    "different",
    "differs",
    "findings",
    "language_of",
    "measure",
    "one_a_prompt",
    "words_of",
]
