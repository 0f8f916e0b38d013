r"""Decide whether an answer is small enough to be compared by value.

A computer algebra system computes what it is given: `9^{9^9}` or `100000000!` would take hours and all memory, and a
model in training may write either. The bounds depend on the text alone, so that a verdict is the same on every machine.
Allowed are texts of up to 300 characters with known LaTeX commands, powers whose exponents multiply to at most 10 000,
roots up to the 99th, and factorials of numbers up to 99.
"""

from __future__ import annotations

import re

from workers.tasks.math_answer import closing_bracket

MAX_CHARACTERS, MAX_POWER = 300, 10_000
COMMAND = re.compile(r"\\([A-Za-z]+)")
COMMANDS = """
frac dfrac tfrac cfrac sqrt cdot times div pm mp pi infty infinity circ degree percent
left right big Big bigl bigr lvert rvert vert mid lfloor rfloor lceil rceil langle rangle lbrace rbrace
text textbf textit textrm mathrm mathbf mathit mbox operatorname mathbb displaystyle quad qquad
sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp
cup cap in notin setminus emptyset varnothing le leq leqslant ge geq geqslant lt gt ne neq approx equiv to
begin end dots ldots cdots
alpha beta gamma delta epsilon varepsilon theta lambda mu nu rho sigma tau phi varphi psi omega
Delta Gamma Theta Lambda Sigma Phi Psi Omega
"""
"""Names of the allowed commands, without their backslash."""
ROOT = re.compile(r"\\sqrt\s*\[(?!\s*\d{1,2}\s*\])")
FACTORIAL = re.compile(r"(?<![\d.])\d{1,2}!(?!\s*!)")
FALLING = re.compile(r"\)\s*_")
"""A falling factorial (n)_k, which is computed from n!."""
EXPONENT = re.compile(r"\\?[A-Za-z]+|[-+]?[\d.]+|.", re.DOTALL)


def is_comparable(answer: str) -> bool:
    """Return whether the answer keeps the bounds."""
    return (
        len(answer) <= MAX_CHARACTERS
        and answer.count("{") == answer.count("}")
        and set(COMMAND.findall(answer)) <= set(COMMANDS.split())
        and not ROOT.search(answer)
        and not FALLING.search(answer)
        and "!" not in FACTORIAL.sub("", answer)
        and "**" not in answer
        and _power(answer) <= MAX_POWER
    )


def _power(text: str) -> float:
    """Return an upper bound for the power that numbers in the text are raised to; infinity for towers of powers.

    Exponents of brackets multiply, because their bases may hold powers themselves; of the others the largest counts.
    """
    largest, product, at = 1.0, 1.0, 0
    while (at := text.find("^", at)) >= 0:
        exponent, end = _exponent(text, at + 1)
        if "^" in exponent or "!" in exponent or text[end:].lstrip().startswith("^"):
            return float("inf")
        value = 1.0
        for number in re.findall(r"\d+", exponent):
            value *= float(number)
        if text[:at].rstrip().endswith((")", "}", "]", "|")):
            product *= max(1.0, value)
        else:
            largest = max(largest, value)
        at = end
    return largest * product


def _exponent(text: str, start: int) -> tuple[str, int]:
    """Return the exponent that begins at `start`, and its end."""
    start += len(text[start:]) - len(text[start:].lstrip())
    for brackets in ("{}", "()"):
        if text.startswith(brackets[0], start):
            end = closing_bracket(text, start, brackets)
            return (text[start + 1 : end], end + 1) if end >= 0 else (text[start:], len(text))
    match = EXPONENT.match(text, start)
    return (match[0], match.end()) if match else ("", start)
