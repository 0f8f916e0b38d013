r"""Formulas as answers: the content of \boxed{}, and the normal form in which answers are compared as texts.

The form is that of hendrycks/math (`_strip_string`), but for faults of it: only a unit at the end is cut (7\text{ or }8
is not 7), digits with a space between them stay apart (2 3/4 is 11/4 and not 23/4), and 2=10 is no value of a variable.
Thousands and a final full stop do not count. Every function takes time linear in the length of its text.
"""

from __future__ import annotations

import re
from fractions import Fraction

BOX = re.compile(r"\\(?:boxed|fbox)\s*")
BRACKET = re.compile(r"\\[^a-zA-Z]|[{}]")
"""A bracket that groups, or a command of one sign: \\{ groups nothing."""
SPACES = re.compile(r"(?<!\\)\\[,;: ]|~|\\q?quad\b|[\r\t\u00a0\u2009\u202f]")
SIZES = re.compile(r"\\(?:left|right|[bB]igg?[lr]?)(?![a-zA-Z])")
DELIMITERS = re.compile(r"\\?\$|(?<!\\)\\[()\[\]]")
DEGREES = re.compile(r"\s?(?:\^\s?(?:\{\s?\\circ\s?\}|\\circ)|°|\\degrees?(?![a-zA-Z]))")
GROUP_COMMA = re.compile(r"(?<=\d)\{,\}(?=\d{3}(?!\d))")
GROUPED = re.compile(r"(-?)(\d{1,3}(?:(?:,\d{3})+|(?: \d{3})+))((?:\.\d+)?)")
MIXED = re.compile(r"(?<![\w.,/^}\\])(\d{1,40}) {1,3}(\d{1,40})/(\d{1,40})(?![\w/]|\.\d)")
MIXED_FRACTION = re.compile(r"(-?)(\d{1,40})\\frac\{(\d{1,40})\}\{(\d{1,40})\}")
TEXT = r"\\(?:text(?:bf|it|rm)?|mathrm|mbox)\s?\{([^{}]{0,60})\}"
POWER = r"(?:\s?\^\s?(?:\d|\{\d\}))?"
UNIT = re.compile(rf"\s?{TEXT}{POWER}\Z")
MAX_UNIT = 100
"""Characters at the end of an answer in which its unit is looked for."""
WORDS = re.compile(rf"(-?[\d.][\d.,/ ]*)\s([A-Za-z][A-Za-z. /-]*){POWER}")
NO_UNITS = """
or and is are not to than more less least most wrong only about if mod base pm am p.m a.m th st nd rd
pi sqrt sin cos tan log ln exp factorial over times plus minus squared cubed hundred thousand million billion trillion
dozen half halves third thirds quarter quarters fourth fourths fifth fifths sixth sixths eighth eighths tenth tenths
hundredths i e n x y z k
"""
"""Words after a number that change its value, or are a part of it."""
NAMED = re.compile(r"(?:[A-Za-z]{1,2}|\\[a-zA-Z]{2,8})\s?=([^=]*)")
APART = re.compile(r"(?<!\d) +| +(?!\d)")
MAX_FORMULA = 1000
"""Characters of an answer that can be a formula; longer ones are text."""
RATIO = re.compile(r"(-?)\\frac\{(-?\d{1,40})\}\{(\d{1,40})\}")
RATIONAL = re.compile(r"(-?)\\frac\{(-?\d{1,40})\}\{(-?\d{1,40})\}|([-+]?(?:\d{1,60}(?:\.\d{0,60})?|\.\d{1,60}))")
FRACTION = re.compile(r"(-?(?:0|[1-9][0-9]*))/(-?(?:0|[1-9][0-9]*))")


def last_box(text: str) -> str:
    r"""Return the content of the last \boxed{…} whose brackets close and that is not blank, else that of \fbox{…}.

    Without either, `\boxed 5` counts up to the next $, or if nothing follows it. Empty if there is none.
    """
    boxes = list(BOX.finditer(text))
    closing = _closing_brackets(text) if boxes else {}
    for command in (r"\boxed", r"\fbox"):
        for box in reversed(boxes):
            if box[0].startswith(command) and box.end() in closing:
                content = text[box.end() + 1 : closing[box.end()]].strip()
                if content:
                    return content
    bare = [box.end() for box in boxes if box[0][-1].isspace() and not text.startswith("{", box.end())]
    content, end, _ = text[bare[-1] :].partition("$") if bare else ("", "", "")
    return content.strip() if end or len(content.split()) == 1 else ""


def plain_form(answer: str) -> str:
    r"""Return the answer without typesetting, thousands, unit and full stop; a mixed number is one fraction.

    10,\!080 is 10080; 5\text{ cm} is 5; \$3.50 is 3.50; 2 3/4 and 2\tfrac{3}{4} are \frac{11}{4}.
    """
    text = SPACES.sub(" ", answer.replace("\n", "").replace(r"\!", ""))
    text = re.sub(r"\\[tdc]frac(?![a-z])", r"\\frac", text)
    text = DEGREES.sub("", DELIMITERS.sub("", SIZES.sub("", text))).strip()
    if text.endswith(".") and not text.endswith((r"\.", "..")):
        text = text[:-1].rstrip()
    text = GROUP_COMMA.sub(",", _without_unit(text)).strip()
    if grouped := GROUPED.fullmatch(text):
        text = grouped[1] + grouped[2].replace(",", "").replace(" ", "") + grouped[3]
    text = MIXED.sub(lambda mixed: _one_fraction("", *mixed.groups()) or mixed[0], text)
    compact = _full_fractions(text.replace(" ", "")) if len(text) <= MAX_UNIT else ""
    mixed = MIXED_FRACTION.fullmatch(compact)
    return (mixed and _one_fraction(*mixed.groups())) or text


def normalise(answer: str) -> str:
    r"""Return the normal form in which answers are compared as texts.

    Equal forms have 1/2, \frac12, \tfrac{1}{2} and 0.5; 10 and 10\text{ units}; 5 and x=5; 10, 10\% and \$10.
    """
    text = plain_form(answer).replace("\\\\", "\\")
    text = text.replace(r"\%", "").replace("%", "").replace(" .", " 0.").replace("{.", "{0.")
    text = "0" + text if text.startswith(".") else text
    if named := NAMED.fullmatch(text):
        text = plain_form(named[1])
    text = re.sub(r"\\sqrt\s?([^\s{\[])", r"\\sqrt{\1}", text)
    text = _full_fractions(APART.sub("", text.strip()))
    text = "1/2" if text == "0.5" else text
    fraction = FRACTION.fullmatch(text)
    return rf"\frac{{{fraction[1]}}}{{{fraction[2]}}}" if fraction else text


def rational(answer: str) -> Fraction | None:
    r"""Return the number that an answer consists of: -3, 0.25, 3/4, \frac{3}{4}. None for anything else."""
    number = RATIONAL.fullmatch(normalise(answer)) if len(answer) <= MAX_UNIT else None
    if number is None:
        return None
    if number[4]:
        return Fraction(number[4])
    top, bottom = Fraction(number[2]), Fraction(number[3])
    return (-1 if number[1] else 1) * top / bottom if bottom else None


def is_same_formula(answer: str, target: str) -> bool:
    """Return whether two answers have one normal form, or are one number. 30 % is not 30."""
    if max(len(answer), len(target)) > MAX_FORMULA or ("%" in answer) is not ("%" in target):
        return False
    form, number = normalise(target), rational(target)
    return bool(form) and (normalise(answer) == form or (number is not None and rational(answer) == number))


def text_form(answer: str) -> str:
    r"""Return a formula as text: \frac{3}{4} as 3/4, \text{east} as east."""
    text = plain_form(answer)
    ratio = RATIO.fullmatch(text)
    text = f"{ratio[1]}{ratio[2]}/{ratio[3]}" if ratio else text
    return re.sub(TEXT, r"\1", text).replace(r"\%", "%")


def _full_fractions(text: str) -> str:
    r"""Return the text with brackets around the parts of \frac12 and \frac1{72}."""
    text = re.sub(r"\\frac([^{\s])([^{\s])", r"\\frac{\1}{\2}", text)
    return re.sub(r"\\frac([^{\s])\{", r"\\frac{\1}{", text)


def _without_unit(text: str) -> str:
    r"""Return the text without the unit at its end: 5\text{ cm}^2, 12 dollars. Words such as "or" are no unit."""
    start = max(0, len(text) - MAX_UNIT)
    unit = UNIT.search(text, start)
    if unit and unit.start() and _is_unit(unit[1]):
        return text[: unit.start()]
    words = WORDS.fullmatch(text) if len(text) <= MAX_UNIT else None
    return words[1] if words and _is_unit(words[2]) else text


def _is_unit(words: str) -> bool:
    names = re.split(r"[\s/-]+", words.strip().strip(".").lower())
    return all(name.replace(".", "").isalpha() for name in names) and not set(NO_UNITS.split()).intersection(names)


def _one_fraction(sign: str, whole: str, part: str, parts: str) -> str:
    r"""Return the fraction that a mixed number is; empty if its fraction is not below 1, as in 2\frac{5}{3}."""
    if not int(part) < int(parts):
        return ""
    return rf"{sign}\frac{{{int(whole) * int(parts) + int(part)}}}{{{parts}}}"


def _closing_brackets(text: str) -> dict[int, int]:
    """Return position of an opening bracket -> that of the bracket that closes it, for those that are closed."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for match in BRACKET.finditer(text):
        if match[0] == "{":
            opened.append(match.start())
        elif match[0] == "}" and opened:
            closing[opened.pop()] = match.start()
    return closing
