"""Model judges as they are kept: their settings, their keys, and what they are told."""

from judging.judges.admission import admitted, left_out, why_not
from judging.judges.changing import CannotKeep, Draft, bring_back, change, make, may_ask, retire, rules_judge
from judging.judges.keys import KeyLost, keep_key, key_of
from judging.judges.kin import kin
from judging.judges.told import allowed_hosts, price_of, rubric_of, sampling_of, server_of

__all__ = [
    "CannotKeep",
    "Draft",
    "KeyLost",
    "admitted",
    "allowed_hosts",
    "bring_back",
    "change",
    "keep_key",
    "key_of",
    "kin",
    "left_out",
    "make",
    "may_ask",
    "price_of",
    "retire",
    "rubric_of",
    "rules_judge",
    "sampling_of",
    "server_of",
    "why_not",
]
