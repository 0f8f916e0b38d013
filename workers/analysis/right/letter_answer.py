r"""Read the letter of the option that a response commits to, as a careful reader would.

The text is the response without thoughts, invented turns, code and emphasis; a marked answer, <answer>B</answer> or
\boxed{B}, stands for all of it. `letter_clauses` marks the letters in its clauses. A letter is

1. **stated** if words before it introduce an answer and its clause ends there (the answer is B because …, I pick B,
   so B), or a predicate calls it right (B is correct, only B fits); likewise the item of a list (B. Mars: correct)
2. **bare** if it is a clause of its own: B. Mars; (b); Option D.
3. nothing otherwise: a word (A dog), a term (vitamin C, 37 C, plan B), a letter that is discussed (option B says),
   denied (not B, B is wrong), asked about (is it B?) or supposed (if it is B).

The last stated letter counts, without any the only bare one, without any the only one added in brackets to other text
(Paris (C); Mars (option B) is red). Several letters at once (A or B) are no letter, nor are different ones under
conditions (A if it is hot, otherwise B), and a hedge (maybe B) is a bare one. "No", "wait", "actually", "maybe not" and
"I can't decide" take back all before them.

MMLU-Pro's `compute_accuracy.py` takes the first "answer is" and otherwise the last letter of the text; that letter is
often none that the response commits to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from string import ascii_uppercase

from workers.analysis.right.letter_clauses import (
    BRACKETED,
    INTRODUCTION,
    LINK,
    SEVERAL,
    WINDOW,
    Clause,
    clauses_of,
    first_turn,
    letter_of,
)
from workers.analysis.right.math_form import last_box
from workers.analysis.right.polarity import is_denied, is_retraction, is_supposed
from workers.analysis.right.sentences import ANSWER

MARK = re.compile("[\ue200-\ue219\ue300-\ue319\ue400]")
ITEM = re.compile("(?:[-•] )?([\ue100-\ue119\ue200-\ue219\ue300-\ue319])")
OPENING = re.compile(rf"[-•\s]{{0,5}}{LINK}", re.I)
CONJOINED = re.compile(rf"(?:and|then|because|since)\b{LINK}", re.I)
OR = re.compile(
    rf"(?:or|(?:or )?else|otherwise|(?:but |and )?also|as well as)(?: maybe| perhaps| possibly)?\b{LINK}", re.I
)
ALONE = re.compile(
    r"[\s'>]*(?:$|which\b|(?:for sure|obviously|definitely|probably|clearly|certainly|of course|i think|i guess)$"
    r"|[\u3040-\u30ff\u4e00-\u9fff])",
    re.I,
)
"""After a letter, what leaves it alone in its clause."""
AT_END = re.compile(r"\s?(?:as|who|that|here|for|over|when|not|or|instead|with|too|it is|by|in|ist|est)\b")
"""After a letter that is introduced, what adds to the answer: the answer is B as …"""
VERB = re.compile(
    r"\s?(?:is|are|was|were|has|have|had|can|cannot|could|would|may|might|must|does|do|says?|looks?|seems?)\b"
)
NAMED = re.compile(r"\s[A-Z0-9]")
"""After a letter, the text of its option: D Dolphin."""
IS = r"(?:'s|is|are|was|be|(?:seems?|looks?|appears?|sounds?)(?: to be| like)?|ist|est|es|è|é)"
RIGHT = re.compile(
    rf"\s?(?:(?:must|should|would|has to|will|can only) )?{IS} (?:[a-z]{{1,12}}ly |also |thus |indeed )?"
    r"(?:right|correct|best|better|true|close(?:st|r to the truth)"
    r"|(?:the )?(?:likeliest|most (?:likely|probable|accurate|plausible|suitable|appropriate|reasonable|logical))"
    r"|(?:the|my) (?!wrong|incorrect|worst|false)(?:[a-z-]{1,12} ){0,2}(?:answer|one|option|choice|solution|best|only)"
    r"|what i (?:would |will )?(?:choose|pick|say)|richtig|korrekt|correcte?|correct[oa]|corrett[oa]|vraie?)\b"
    r"|\s?the (?:right|correct|best) (?:answer|one|option|choice|solution)\b"
    r"|\s?(?:fits|works|matches|it is|makes(?: the)?(?: most| more)? sense)\b",
    re.I,
)
WRONG = re.compile(
    rf"\s?{IS} (?:[a-z]{{1,12}}ly |also )?(?:wrong|incorrect|false|not (?:right|correct|true|the)|out)\b"
    r"|\s?(?:is|are|was)n't (?:right|correct|true|the)\b"
)
ONLY = re.compile(rf"\bonly{LINK}$", re.I)
BUT = re.compile(r"\s?[a-z]{1,12}(?:n't| not| too)\b", re.I)
"""After the verb of "only B is", what makes it no answer: only B is too big."""
HEDGE = re.compile(r"\b(?:might|may|could|maybe|perhaps|possibly|not (?:sure|certain)|unsure)\b", re.I)
FOREIGN_DENIAL = re.compile(r"\b(?:nicht|kein\w{0,3}|weder|noch|pas|ni|no|não|nem|non|niet)\b|不")
OPTION = re.compile(r"(?:^|\s)\(?([A-Z])[).:](?=\s)")
"""The letter of an option in the text of a question."""
TAKEN_BACK = re.compile(
    r"(?:actually|(?:maybe|perhaps|or) not|(?:but )?(?:that|this|it) (?:is not|isn't|can't be) (?:right|correct))\b",
    re.I,
)
UNDECIDED = re.compile(
    r"\b(?:can't|cannot|can not|couldn't|could not|unable to) (?:[a-z]{1,12}ly )?(?:decide|choose)"
    r"(?: between\b| which\b|$)"
    r"|(?<!was )\b(?:not (?:[a-z]{1,12}ly )?(?:sure|certain)|unsure|unclear|no idea"
    r"|(?:can't|cannot|can not|don't|do not) (?:[a-z]{1,12}ly )?(?:tell|say|know|determine)) which\b",
    re.I,
)
CONDITIONED = re.compile(r"\s?(?:if|otherwise)\b")
"""After a letter: B if it is hot."""
ELSE = re.compile(r"\s?or (?:something|anything|another|none|not)\b", re.I)
VERDICT = re.compile(
    r"(?:.{0,60}\bis )?(?:the )?(?:correct|right|true|yes|✓|✔|✅)(?: answer| option| choice| one)?", re.I
)
NO = re.compile(r"no|(?:is |this is )?(?:wrong|incorrect|false|not (?:right|correct|true))|✗|✘|❌", re.I)


@dataclass
class _Reading:
    """Letters so far. stated: None without any, empty for several; is_conditional: in a sentence with a condition.
    bare: those that are a clause; added: those in brackets after other text. item: line and letter of the last clause
    that is a letter."""

    stated: str | None = None
    is_conditional: bool = False
    bare: set[str] = field(default_factory=set)
    added: set[str] = field(default_factory=set)
    item: tuple[int, str] = (-1, "")

    def result(self) -> str | None:
        """Return the letter, empty for several, None if there is none."""
        letters = self.bare or self.added
        if self.stated is not None or not letters:
            return self.stated
        return next(iter(letters)) if len(letters) == 1 else ""

    def state(self, letter: str, clause: Clause) -> None:
        """Note a stated letter. Different ones under different conditions are several."""
        if self.is_conditional and clause.is_conditional and self.stated not in (None, letter):
            letter = ""
        self.stated, self.is_conditional = letter, clause.is_conditional

    def remove(self, letter: str) -> None:
        self.bare.discard(letter)
        self.added.discard(letter)
        self.stated = None if self.stated == letter else self.stated


def read_letter(response: str, letters: str) -> str:
    """Return the option that the response commits to, one of `letters` such as "ABCD"; empty if it names none."""
    text = first_turn(response)
    answers = ANSWER.findall(text)
    for marked in (answers[-1] if answers else "", last_box(text)):
        letter = _read(marked, letters)
        if letter is not None:
            return letter
    return _read(text, letters) or ""


def listed_letters(question: str) -> str:
    """Return the letters of the options that a question lists, such as "ABCD"; empty if it lists none."""
    letters = ""
    for option in OPTION.finditer(question):
        if option[1] == ascii_uppercase[len(letters) : len(letters) + 1]:
            letters += option[1]
    return letters if len(letters) > 1 else ""


def _read(text: str, letters: str) -> str | None:
    reading = _Reading()
    for clause in clauses_of(text, letters):
        if NO.fullmatch(clause.text) and clause.line == reading.item[0]:
            reading.remove(reading.item[1])
        elif _takes_back(clause):
            reading = _Reading()
        if clause.end != "?":
            _read_item(clause, reading)
            for mark in MARK.finditer(clause.text):
                _read_mark(clause, mark, reading)
    return reading.result()


def _takes_back(clause: Clause) -> bool:
    """Return whether a clause takes back the letters before it: no; actually; I can't decide."""
    is_back = is_retraction(f"{clause.text}{clause.end}".casefold()) or TAKEN_BACK.match(clause.text)
    return bool(is_back or UNDECIDED.search(clause.text))


def _read_item(clause: Clause, reading: _Reading) -> None:
    """Note a letter that is a clause of its own, and the verdict on it in the same line."""
    line, letter = reading.item
    if item := ITEM.fullmatch(clause.text):
        reading.item = clause.line, letter_of(item[1])
    elif line == clause.line and VERDICT.fullmatch(clause.text):
        reading.state(letter, clause)


def _read_mark(clause: Clause, mark: re.Match[str], reading: _Reading) -> None:
    text = clause.text
    before, after = text[max(0, mark.start() - WINDOW) : mark.start()], text[mark.end() : mark.end() + WINDOW]
    letter = letter_of(mark[0])
    is_opening = OPENING.fullmatch(before)
    is_introduced = None if is_opening else INTRODUCTION.search(before)
    is_subject = is_opening or is_introduced or CONJOINED.fullmatch(before) or _is_bracketed(mark[0])
    if not letter and clause.line == reading.item[0]:
        return  # The text of an option: D. Both A and B
    if OR.fullmatch(before) and _ends(mark[0], after, is_introduced=True):
        if reading.stated is not None:
            reading.stated = ""
        reading.bare.add(letter)
    elif not is_subject:
        return
    elif WRONG.match(after):
        reading.remove(letter)
    elif ELSE.match(after) or _is_denied(before):
        return
    elif _is_affirmed(before, after) or (is_introduced and _ends(mark[0], after, is_introduced=True)):
        if HEDGE.search(before):
            reading.bare.add(letter)
        else:
            reading.state(letter, clause)
    elif is_opening and _ends(mark[0], after, is_introduced=False) and clause.end != ")":
        reading.bare.add(letter)
    elif _is_in_brackets(mark[0], before, clause.end) and _ends(mark[0], after, is_introduced=False):
        reading.added.add(letter)


def _is_denied(before: str) -> bool:
    """Return whether the letter after this text is denied or supposed."""
    before = before.casefold()
    return is_denied(before, "") or is_supposed(before) or FOREIGN_DENIAL.search(before) is not None


def _is_bracketed(mark: str) -> bool:
    return BRACKETED <= ord(mark) < SEVERAL


def _is_in_brackets(mark: str, before: str, end: str) -> bool:
    """Return whether brackets hold a letter alone, or name an option: (B), (option B). Not f(A, B)."""
    return _is_bracketed(mark) or (bool(before) and end == ")")


def _is_affirmed(before: str, after: str) -> bool:
    """Return whether the text calls this letter right, alone (only B is red) or under a condition (B if it is red)."""
    if RIGHT.match(after) or CONDITIONED.match(after):
        return True
    return ONLY.search(before) is not None and VERB.match(after) is not None and not BUT.match(after)


def _ends(mark: str, after: str, is_introduced: bool) -> bool:
    """Return whether the clause ends after the letter. An A or I before another word is a word itself."""
    if ALONE.match(after) or (_is_bracketed(mark) and not VERB.match(after)):
        return True
    if letter_of(mark) not in "AI" and NAMED.match(after):
        return True
    return is_introduced and AT_END.match(after) is not None
