"""Model judges: their settings, keys and rubrics, and the rule by which their verdicts count."""

from judging.judges.adapters import allowed_hosts, price_of, rubric_of, sampling_of, server_of
from judging.judges.admission import admitted_verdicts, exclusion_reason, exclusion_reasons, self_preference_warning
from judging.judges.commands import (
    CannotSaveJudge,
    change_judge,
    create_judge,
    may_ask,
    retire,
    rules_judge,
    unretire,
)
from judging.judges.keys import KeyLost, key_of, save_key
from judging.judges.rubrics import RubricText, create_standard_rubrics, newest_rubrics, next_version

__all__ = [
    "CannotSaveJudge",
    "KeyLost",
    "RubricText",
    "admitted_verdicts",
    "allowed_hosts",
    "change_judge",
    "create_judge",
    "create_standard_rubrics",
    "exclusion_reason",
    "exclusion_reasons",
    "key_of",
    "may_ask",
    "newest_rubrics",
    "next_version",
    "price_of",
    "retire",
    "rubric_of",
    "rules_judge",
    "sampling_of",
    "save_key",
    "self_preference_warning",
    "server_of",
    "unretire",
]
