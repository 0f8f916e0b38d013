"""Read the letter of an option from a response, by rules like those of MMLU-Pro's `compute_accuracy.py`.

Read is, in this order, without the emphasis of ** and the braces of \\boxed{} and \\text{}:

1. a response that is a letter and nothing else, of either case: C, (c), C.
2. the letter after the last "answer is", "answer would be" or "answer:": The answer is (C), Answer: C
3. the letter that the response begins with, if a bracket, full stop, colon, comma or line's end follows: C. Paris
4. the last letter that a verb selects or a statement calls right: I pick C, option C, C is correct
5. the last letter that stands alone

An A or I before a small letter is a word of the sentence and does not count, unless "because", "as" or "is" follows.

MMLU-Pro takes the first "answer is"; here the last counts, as the final answer of a response that thinks first.
"""

from __future__ import annotations

import re

EMPHASIS = re.compile(r"\*\*|__|\$|\\boxed\s*\{|\\text(?:bf)?\s*\{|[{}]")
ANSWER = r"(?i:\banswer(?: is| would be|\s*:)):?\s*\(?(?i:option |choice )?"
SELECTS = r"\b(?i:pick|choose|select|option|choice)\s+\(?"
IS_RIGHT = r"\)?\s+(?:is|must be)\s+(?:the\s+)?(?:right|correct|best|answer)\b"
END = r"(?!\w|['’])(?<![AI](?=\s+(?!because\b|since\b|as\b|is\b|fits\b|which\b|and\b|or\b)[a-z]))"
"""What may not follow a letter: more of its word; for A and I, a word as after an article or a pronoun."""


def read_letter(response: str, letters: str) -> str:
    """Return the option that the response names, one of `letters` such as "ABCD"; empty if it names none."""
    text = EMPHASIS.sub("", response).strip()
    letter = f"[{letters}]"
    if alone := re.fullmatch(rf"\(?({letter})[).:]*", text, re.IGNORECASE):
        return alone[1].upper()
    if after := re.findall(rf"{ANSWER}({letter}){END}|{ANSWER}((?i:{letter}))(?=[).,;:]|$)", text):
        return str(after[-1][0] or after[-1][1]).upper()
    if begins := re.match(rf"\(?({letter})(?:[).:,]|\s*\n)", text):
        return begins[1]
    if chosen := re.findall(rf"{SELECTS}({letter}){END}|(?<![\w'’])({letter}){IS_RIGHT}", text):
        return str(chosen[-1][0] or chosen[-1][1])
    single = re.findall(rf"(?<![\w'’])({letter}){END}", text)
    return str(single[-1]) if single else ""
