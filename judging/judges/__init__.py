"""Model judges as they are kept: their settings, their keys, and what they are told."""

from judging.judges.adapters import allowed_hosts, price_of, rubric_of, sampling_of, server_of
from judging.judges.admission import admitted, kin, left_out, why_not
from judging.judges.commands import (
    ANSWER_SECONDS_AT_MOST,
    AT_ONCE_AT_MOST,
    CannotKeep,
    Draft,
    bring_back,
    change,
    make,
    may_ask,
    retire,
    rules_judge,
)
from judging.judges.keys import KeyLost, keep_key, key_of
from judging.judges.rubrics import RubricText, make_standard, newest_rubrics, next_version

__all__ = [
    "ANSWER_SECONDS_AT_MOST",
    "AT_ONCE_AT_MOST",
    "CannotKeep",
    "Draft",
    "KeyLost",
    "RubricText",
    "admitted",
    "allowed_hosts",
    "bring_back",
    "change",
    "keep_key",
    "key_of",
    "kin",
    "left_out",
    "make",
    "make_standard",
    "may_ask",
    "newest_rubrics",
    "next_version",
    "price_of",
    "retire",
    "rubric_of",
    "rules_judge",
    "sampling_of",
    "server_of",
    "why_not",
]
