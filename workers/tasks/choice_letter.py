"""Read the letter of an option from a response, by rules like those of MMLU-Pro's `compute_accuracy.py`.

Read is, in this order, without the emphasis of ** and the braces of \\boxed{} and \\text{}:

1. a response that is a letter and nothing else, of either case: C, (c), C.
2. the letter after the last "answer is" or "answer:": The answer is (C), Answer: C
3. the letter that the response begins with, if a bracket, full stop, colon, comma or line's end follows: C. Paris
4. the last letter that stands alone; an A before a small letter is an article and does not count, nor is it in rule 2

MMLU-Pro takes the first "answer is"; here the last counts, as the final answer of a response that thinks first.
"""

from __future__ import annotations

import re

EMPHASIS = re.compile(r"\*\*|__|\$|\\boxed\s*\{|\\text(?:bf)?\s*\{|[{}]")
ARTICLE = r"(?!\w|['’]|\s+[a-z])"
"""What may not follow a letter: more of its word, or a word as after an article."""


def read_letter(response: str, letters: str) -> str:
    """Return the option that the response names, one of `letters` such as "ABCD"; empty if it names none."""
    text = EMPHASIS.sub("", response).strip()
    letter = f"[{letters}]"
    if alone := re.fullmatch(rf"\(?({letter})[).:]*", text, re.IGNORECASE):
        return alone[1].upper()
    after = re.findall(rf"(?i:\banswer(?: is|\s*:)):?\s*\(?(?i:option |choice )?({letter}){ARTICLE}", text)
    if after:
        return str(after[-1])
    if begins := re.match(rf"\(?({letter})(?:[).:,]|\s*\n)", text):
        return begins[1]
    single = re.findall(rf"(?<![\w'’])({letter}){ARTICLE}", text)
    return str(single[-1]) if single else ""
