"""Recognize single answers that play the user too, were cut off, or refuse."""

from __future__ import annotations

import re

from workers.analysis.collapse.answers import Answer

ROLE_MARKER = re.compile(
    r"\b(?:USER|ASSISTANT|HUMAN)\s*:"
    r"|^[^\S\n]*(?:User|Assistant|Human)\s*:"
    r"|<\|(?:im_start|im_end|start_header_id|eot_id|user|assistant|system)\|>"
    r"|\[/?INST\]|^###\s*(?:Instruction|Input|Response|Human|Assistant)\b"
    r"|BEGINNING OF CONVERSATION:",
    re.MULTILINE,
)
"""Words that part the speakers of a conversation, as chat templates write them."""
REFUSAL = re.compile(
    r"""\W*(?:
      (?:i['’]?m|i\ am)\ (?:\w+\ )?(?:sorry|afraid|unable|not\ able)
    | sorry | i\ apologi[sz]e | my\ apologies
    | (?:unfortunately,?\ |no,?\ )?i\ (?:can(?:['’]?t|\ ?not)|won['’]?t|will\ not|must\ decline|refuse
      |do(?:n['’]?t|\ not)\ think|should(?:n['’]?t|\ not))
    | as\ an?\ (?:ai|assistant|(?:large\ )?language\ model)
    | it(?:['’]s|\ is)\ (?:not|never)\ (?:appropriate|ok|okay|ethical|legal|right)
    | we\ can(?:['’]?t|not)\ help
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
ENDS = tuple(".!?…。！？\"'”’)]}>*`~;:-")
MIN_CUT_WORDS = 20
"""A number of words: a shorter answer that ends without a full stop may be complete."""


def leaks(answer: Answer) -> bool:
    """Return whether the answer holds a role marker: the model continued a conversation that nobody had with it."""
    return not answer.is_empty and ROLE_MARKER.search(answer.text) is not None


def refuses(answer: Answer) -> bool:
    """Return whether the answer opens as refusals do, in English."""
    return REFUSAL.match(answer.text) is not None


def is_cut(answer: Answer) -> bool:
    """Return whether it reached the length limit; if that is unknown, whether it is long and ends within a sentence."""
    if answer.is_cut is not None:
        return answer.is_cut
    text = answer.text.rstrip()
    return len(answer.words) >= MIN_CUT_WORDS and not text.endswith(ENDS)
