"""The clauses of a response to a multiple choice, with its letters marked.

A letter is replaced by a mark, one character of Unicode's private area, so that the rules of `letter_answer` are
patterns of the text around that character. There is one kind for each form in which letters stand:

    label       begins a line in a list of the options: A. Venus / B. Mars
    single      B
    bracketed   (B), [B]
    several     A or B; B, C and D

DNA, B's, 37 °C, initials (C. S. Lewis) and code have no letters, but for code that is JSON. A small letter counts in
brackets, at the beginning, and at the end of a clause after words that introduce an answer.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from string import ascii_uppercase

from workers.analysis.right.mention import LETTER
from workers.analysis.right.turns import LABEL as TURN

LABEL, SINGLE, BRACKETED, SEVERAL = 0xE100, 0xE200, 0xE300, 0xE400
"""Marks of the letter A in each form, those of B, C, … follow; and the mark of several letters."""
PRIVATE = re.compile("[\ue000-\ue4ff]")
CLAUSE_BREAK = "\ue000"
THOUGHT, END_OF_THOUGHT = "<think>", "</think>"

TYPOGRAPHY = str.maketrans(
    {0xFF01 + i: 0x21 + i for i in range(94)}
    | {"[": "(", "]": ")", "’": "'", "。": ".", "、": ",", "…": ".", "—": ";", "\r": "\n", "\u00a0": " "}
    | dict.fromkeys('"“”„«»`$#', "")
)
CODE = re.compile(r"```\w{0,20}([^`]*)```")
SHORT_CODE = 20
"""Characters of a code block up to which it can be an answer that is set as code."""
OBJECT = re.compile(r"\s*\{\s*[\"']")
"""Begins JSON, whose fields are read as text: {"reason": "…", "answer": "B"}."""
MARKUP = re.compile(
    r"\*|(?<![^\W_])_|_(?![^\W_])|\\(?:boxed|fbox|text(?:bf|it|rm)?|math(?:bf|rm))\s{0,3}\{|[{}]|</?[a-z]{1,9}>"
)
QUOTED = re.compile(r"(?<!\w)['<]([A-Za-z])['>](?!\w)")

SPACED = re.compile(r"\(\s{1,3}([A-Za-z])\s{1,3}\)")

NOUN = (
    r"(?:answer|ans|option|choice|letter|solution|antwort|lösung|buchstabe|réponse|lettre|choix|respuesta|opción|letra"
    r"|resposta|opção|risposta|opzione|lettera|antwoord|ответ|答案|选项|正解|答え)"
)
ANNOUNCED = re.compile(rf"(?<![^\W_])({NOUN})\.?\s{{0,2}}(?:[:=]|[-–]\s|\n)\s{{0,3}}", re.I)
INTRODUCED = (
    r"(?:\b(?:(?<!so )is|be|(?<!so )are|was|it's|that's|answer's|choose|pick|select|guess|vote|say|think|believe|mean"
    r"|prefer|suggest|conclude|(?:go|going|went|agree|stick) with|(?:go|going|opt|vote) for|remains"
    r"|leav(?:es?|ing)(?: us| me)?(?: with| only)?|so|thus|hence|therefore|rather|but|only|definitely|certainly|clearly"
    r"|obviously|probably|likely|surely|maybe|perhaps|possibly|presumably|finally|that|its"
    r"|(?:confident|sure|certain|convinced)|mak(?:es|ing)|(?:corresponds?|leads?|points?|amounts?) to"
    r"|(?:would|will|'d|'ll) answer"
    r"|ist|sind|lautet|nehme|wähle|est|c'est|choisis|es|elijo|è|é|kies)|[是为选择選擇は→⇒]|[=-]>)"
)
"""Ends what stands before a letter that is chosen."""
COLON = re.compile(rf"({INTRODUCED})\s?:\s{{0,3}}", re.I)
LINK = (
    rf"[\s:,]{{0,3}}(?:(?:either|both) )?(?:(?:the|my|die|der|la|le|el|o|a) )?"
    rf"(?:(?:right |correct |best |final |richtige |bonne )?{NOUN}s? )?(?:\(\s?)?"
)
"""May stand between those words and the letter."""
INTRODUCTION = re.compile(rf"{INTRODUCED}{LINK}$", re.I)
WINDOW = 60
"""Characters next to a letter that decide, on either side."""
SMALL = rf"((?:{INTRODUCED}{LINK}|\b{NOUN} )\(?)([%s])(?=[).,;:!?\n]|\s?$)"
SMALL_BRACKETED = r"(\()([%s])(?=\))"
SMALL_START = r"(\A\(?)([%s])(?=[).:]\s|[).:]?\Z)"
LINE_LABEL = r"^[ \t]{0,9}(?:[-•] )?(?:option |choice )?\(?([%s])(?:[).:]|\Z)"
"""A letter alone is one at the end of the text, where a list is cut off."""

TITLED = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|Sir)\.? ?[A-Z]\.")
INITIALS = re.compile(r"\b([A-Z])\. ?([A-Z])\.(?= [A-Z][a-z])")
ONE = (
    rf"(?<!{LETTER})(?<!['°.])(\(?\(?)([%s])(\)?\)?)"
    rf"(?!{LETTER})(?!\.[A-Za-z]\b)(?!\()(?!\s?[=+^<>∪∩])"
)
JOINED = (
    r"[ \t]{0,3}[,/&]?[ \t]{0,3}(?:(?:and|or|und|oder|et|ou|y|o|e|of|en|和|或|と|か)(?![a-z])[ \t]{0,3})?"
    r"(?:(?:maybe|perhaps|possibly|even|also|both|option|choice|letter)[ \t]{1,3})?"
)
ONLY_COMMA = re.compile(r"[\s,]*")
STOP = re.compile(r"[ \t]*(?:$|[.!?;:,\n)])")

BREAK = re.compile(
    r"\s(?=(?:but|because|since|so(?!-)|and|then|whereas|therefore|thus|hence|although|though)\b)|\s[-–]\s", re.I
)
CONDITION = re.compile(r"(?<!see )\b(?:if|unless|assuming|otherwise)\b", re.I)
SENTENCE_ENDS = ".!?\n"
END = re.compile(rf"[.!?;,:\n(){CLAUSE_BREAK}]")


@dataclass(frozen=True)
class Clause:
    """A part of a sentence, with its letters marked. end: the sign after it. line: the number of its line.
    is_conditional: its sentence holds a condition, up to its end."""

    text: str
    end: str
    line: int
    is_conditional: bool


@dataclass(frozen=True)
class _Patterns:
    """The patterns for the letters of one question."""

    small: tuple[re.Pattern[str], ...]
    label: re.Pattern[str]
    one: re.Pattern[str]
    group: re.Pattern[str]


def clauses_of(text: str, letters: str) -> Iterator[Clause]:
    """Yield the clauses of a text that hold anything, in order. letters: those of the options, such as "ABCD"."""
    marked = BREAK.sub(CLAUSE_BREAK, _marked(_plain(text), letters, _patterns(letters)))
    start, line, is_first, is_conditional = 0, 0, True, False
    for end in END.finditer(marked + "\n"):
        clause = marked[start : end.start()].strip()
        if clause:
            is_conditional = CONDITION.search(clause) is not None or (is_conditional and not is_first)
            yield Clause(clause, end[0], line, is_conditional)
        start, line = end.end(), line + (end[0] == "\n")
        is_first = end[0] in SENTENCE_ENDS or (is_first and not clause)


def letter_of(mark: str) -> str:
    """Return the letter that a mark stands for; empty for several."""
    return "" if ord(mark) == SEVERAL else ascii_uppercase[ord(mark) % 0x100]


def first_turn(response: str) -> str:
    """Return the response without its thoughts and without turns that it invents."""
    text = response.rpartition(END_OF_THOUGHT)[2].partition(THOUGHT)[0].strip()
    turn = TURN.search(text, 1)
    return text[: turn.start()] if turn else text


def _plain(text: str) -> str:
    """Return the text without code, emphasis and typographic forms."""
    text = CODE.sub(_answer_in_code, PRIVATE.sub("", text))
    text = MARKUP.sub("", text.translate(TYPOGRAPHY)).replace("\\ ", " ").replace("\\", "")
    return SPACED.sub(r"(\1)", QUOTED.sub(r"\1", text)).strip()


def _answer_in_code(block: re.Match[str]) -> str:
    """Return the content of a code block that can be an answer: a few characters, or JSON. Else a line break."""
    content = block[1]
    return content if len(content.strip()) <= SHORT_CODE or OBJECT.match(content) else "\n"


@functools.lru_cache(maxsize=64)
def _patterns(letters: str) -> _Patterns:
    small, one = letters.lower(), ONE % letters
    return _Patterns(
        (re.compile(SMALL % small, re.I), re.compile(SMALL_BRACKETED % small), re.compile(SMALL_START % small)),
        re.compile(LINE_LABEL % letters, re.I | re.M),
        re.compile(one),
        re.compile(rf"{one}(?:{JOINED}{one})*"),
    )


def _marked(text: str, letters: str, patterns: _Patterns) -> str:
    text = ANNOUNCED.sub(r"\1 is ", _with_labels(text, letters, patterns.label))
    text = COLON.sub(r"\1 ", text)
    for small in patterns.small:
        text = small.sub(lambda match: match[1] + match[2].upper(), text)
    text = INITIALS.sub(lambda match: match[0] if {match[1], match[2]} <= set(letters) else "", TITLED.sub("", text))
    return patterns.group.sub(lambda match: _mark(match, patterns.one), text)


def _with_labels(text: str, letters: str, label: re.Pattern[str]) -> str:
    """Mark the letters that begin the lines of a list: at least A and B, in the order of the options."""
    run: list[int] = []
    listed: set[int] = set()
    for item in label.finditer(text):
        letter = item[1].upper()
        if letter != letters[len(run) : len(run) + 1]:
            run = []
        if letter == letters[len(run)]:
            run.append(item.start())
        if len(run) > 1:
            listed.update(run[-2:])
    return label.sub(lambda item: f"{_symbol(LABEL, item[1])}. " if item.start() in listed else item[0], text)


def _symbol(kind: int, letter: str) -> str:
    return chr(kind + ascii_uppercase.index(letter.upper()))


def _mark(group: re.Match[str], one: re.Pattern[str]) -> str:
    """Return the mark of one letter, or of several that are joined: A or B. "B, A is wrong" joins none."""
    letters = list(one.finditer(group[0]))
    if len({letter[2] for letter in letters}) == 1:
        mark = _mark_one(letters[0])
        # A) begins an item, wherever it is in a line, unless it is introduced: the answer is A).
        before = group.string[max(0, group.start() - WINDOW) : group.start()]
        if not mark.endswith(".") or INTRODUCTION.search(before):
            return mark
        return f"{mark[:-1]})" if before.count("(") > before.count(")") else f". {mark}"
    joint = group[0][letters[-2].end() : letters[-1].start()]
    if ONLY_COMMA.fullmatch(joint) and not STOP.match(group.string, group.end()):
        return one.sub(_mark_one, group[0])
    return chr(SEVERAL)


def _mark_one(letter: re.Match[str]) -> str:
    if letter[1] and letter[3]:
        return _symbol(BRACKETED, letter[2])
    return f"{letter[1][:1]}{_symbol(SINGLE, letter[2])}{'.' if letter[3] else ''}"
