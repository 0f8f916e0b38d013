r"""The final answer of a solution, and its published normal form.

The final answer of a text is, in this order, unless it is blank:

1. the content of its last \boxed{…} whose brackets close, else of its last \fbox{…} (hendrycks/math,
   `last_boxed_only_string`); without either, `\boxed 5` counts up to the next $
2. the number after its first #### (openai/grade-school-math, `extract_answer`), without commas
3. its last number, without commas

Texts of any length are read in linear time.
"""

from __future__ import annotations

import re

BOX = re.compile(r"\\(?:boxed|fbox)\s*")
BRACKET = re.compile("[{}]")
HASHES = re.compile(r"#### (-?[0-9.,]+)")
NUMBER = re.compile(r"(?:(?<![\w.)\]}])-)?(?:\d[\d,]*(?:\.\d+)?|(?<!\d)\.\d+)")
"""A number with its sign; in 5-3 the hyphen is no sign."""
REMOVED = ("\n", r"\!", r"\left", r"\right", r"^{\circ}", r"^\circ", r"\$")
UNITS = r"\text{ "
FRACTION = re.compile(r"(-?(?:0|[1-9][0-9]*))/(-?(?:0|[1-9][0-9]*))")


def final_answer(text: str) -> str:
    """Return the final answer of a response; empty if there is none."""
    return marked_answer(text) or _last_number(text)


def marked_answer(text: str) -> str:
    r"""Return the final answer within \boxed{} or after ####; empty if there is none."""
    return _last_box(text) or _after_hashes(text)


def normalise(answer: str) -> str:
    r"""Return the normal form in which MATH compares answers as texts (hendrycks/math, `_strip_string`).

    Equal forms have 1/2, \frac12, \tfrac{1}{2} and 0.5; 10 and 10\text{ units}; 5 and x=5; 10, 10\% and \$10.
    """
    text = answer.strip()
    for removed in REMOVED[:2]:
        text = text.replace(removed, "")
    text = text.replace("\\\\", "\\").replace("tfrac", "frac").replace("dfrac", "frac")
    for removed in REMOVED[2:]:
        text = text.replace(removed, "")
    text = text.partition(UNITS)[0] if text.count(UNITS) == 1 else text
    text = text.replace(r"\%", "").replace("%", "").replace(" .", " 0.").replace("{.", "{0.")
    text = "0" + text if text.startswith(".") else text
    name, equals, value = text.partition("=")
    text = value if equals and "=" not in value and len(name) <= 2 else text
    text = re.sub(r"\\sqrt([^{])", r"\\sqrt{\1}", text).replace(" ", "")
    text = re.sub(r"\\frac([^{])([^{])", r"\\frac{\1}{\2}", text)
    text = re.sub(r"\\frac([^{])\{", r"\\frac{\1}{", text)
    text = "1/2" if text == "0.5" else text
    fraction = FRACTION.fullmatch(text)
    return rf"\frac{{{fraction[1]}}}{{{fraction[2]}}}" if fraction else text


def closing_bracket(text: str, start: int, brackets: str = "{}") -> int:
    """Return the position of the bracket that closes the one at `start`; -1 if none does."""
    depth = 0
    for match in re.compile(f"[{re.escape(brackets)}]").finditer(text, start):
        depth += 1 if match[0] == brackets[0] else -1
        if not depth:
            return match.start()
    return -1


def _last_box(text: str) -> str:
    boxes = list(BOX.finditer(text))
    closing = _closing_brackets(text) if boxes else {}
    for command in (r"\boxed", r"\fbox"):
        closed = [box.end() for box in boxes if box[0].startswith(command) and box.end() in closing]
        if closed:
            return text[closed[-1] + 1 : closing[closed[-1]]].strip()
    bare = [box.end() for box in boxes if not text.startswith("{", box.end()) and box[0][-1].isspace()]
    return text[bare[-1] :].partition("$")[0].strip() if bare else ""


def _closing_brackets(text: str) -> dict[int, int]:
    """Return position of an opening bracket -> that of the bracket that closes it, for those that are closed."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for match in BRACKET.finditer(text):
        if match[0] == "{":
            opened.append(match.start())
        elif opened:
            closing[opened.pop()] = match.start()
    return closing


def _after_hashes(text: str) -> str:
    match = HASHES.search(text)
    return match[1].replace(",", "") if match else ""


def _last_number(text: str) -> str:
    last = None
    for match in NUMBER.finditer(text):
        last = match
    return last[0].replace(",", "") if last else ""
