"""Whether a text commits to an answer of words: Paris, a tadpole, árbol."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from workers.analysis.right.mention import MAX_ANSWER, mention_pattern
from workers.analysis.right.normal_form import without_accents
from workers.analysis.right.polarity import WINDOW, alternatives, is_denied, is_retraction, is_supposed
from workers.analysis.right.restated import RESTATED
from workers.analysis.right.sentences import Sentence

ARTICLES = re.compile(r"^(?:the|an?|el|la|los|las|un|una|le|les|der|die|das|its?|it is|it's|that is|this is)\s+")
EDGES = " \t\n.,;:!?\"'()[]{}*_-~<>=¡¿/|"
INTRODUCED = re.compile(
    rf"(?:\b(?:is|are|was|be|been|it's|that's|called|named|as|means?|to|equals?|has|have|with|say|answer|think|believe"
    rf"|guess|choose|pick|word|symbol)\b|[:=>(-])(?:[^\w{RESTATED}]+\w+){{0,6}}[^\w{RESTATED}]*$"
)
"""What stands before an answer in the sentence that gives it."""
STATED_AFTER = re.compile(r"[\"')\]]{0,3}(?:$|[,;:(]|\s?□|\s(?:is|are|was|has been|because|since)\b|\s\()")
"""What follows an answer that opens its sentence."""
RESTATEMENT = re.compile(rf"(?:^|\W){RESTATED}[\"']?\s(?:is|are|was|=)(?:n't)?\b")
WORD = re.compile(r"[^\W\d_]+")
MARKER = re.compile(r"\b(?:answer|correct)\b")
JOINS = re.compile(r"\b(?:and|but|while|because|where|unlike)\b")
COMPLEMENT_WORDS = 8
TELLS = re.compile(r"\b(?:answer|correct|right|it)\b")
REACH = 2 * WINDOW
"""Characters of a sentence on either side of an answer that decide about it."""
SHORT_WORDS, OPENING_WORDS, SLIP_LETTERS, CASED_LETTERS, LIST_ITEMS = 5, 3, 6, 2, 3
COORDINATED = re.compile(r"[\"')]{0,3},? (?:and|&) ([^\W_][\w'-]{0,40})((?:\s[\w'-]{1,40}){0,2})[\"')]{0,3}$")
LISTED_BEFORE = re.compile(r"(?:(?<![\w'-])[^\W\d_][\w'-]{0,40}, ){2,20}(?:(?:and|or) )?$")
LISTED_AFTER = re.compile(
    r"(?:, [^\W\d_][\w'-]{0,40}(?=,|$| and| or)){2,20}|, [^\W\d_][\w'-]{0,40},? (?:and|or) [\w'-]{1,40}$"
)
"""Further items of a list of guesses: "Paris, London, Rome"."""
PREDICATES = frozenset({"is", "it", "was", "they", "that", "this", "has", "not", "its", "are", "i", "you", "we", "so"})


@dataclass(frozen=True)
class WordAnswer:
    """The expected answer in normal form. right: all answers that count, itself among them. words: those of the
    question."""

    right: frozenset[str]
    words: frozenset[str]

    @property
    def is_one_of_several(self) -> bool:
        return len(self.right) > 1


def commits(sentences: Iterable[Sentence], answer: WordAnswer) -> bool:
    """Return whether the last commitment of the sentences, in normal form, is the answer."""
    listed = list(sentences)
    if _is_list_of_guesses(listed, answer):
        return False
    weak = strong = None
    for sentence in listed:
        if is_retraction(sentence.text) and (strong or weak):
            weak = strong = False
        event, is_strong = _event(sentence, answer, len(listed) == 1)
        if event is None:
            continue
        if is_strong or event is False:
            strong = event
        weak = event
    return bool(weak if strong is None else strong)


def bare(text: str) -> str:
    """Return a text in normal form without outer signs and a leading article."""
    stripped = text.strip(EDGES)
    return ARTICLES.sub("", stripped, count=1).strip(EDGES) or stripped


def _event(sentence: Sentence, answer: WordAnswer, is_only: bool) -> tuple[bool | None, bool]:
    """Return (whether the sentence commits to the answer, None if to nothing; whether it does so strongly)."""
    text = sentence.text
    if bare(text) in answer.right:
        return True, True
    last: tuple[bool | None, bool] = (None, False)
    is_short = len(text) < WINDOW and len(text.split()) <= SHORT_WORDS
    for start, end in _positions(text, answer):
        before, after = text[max(0, start - REACH) : start], text[end : end + REACH]
        event = _mention(before, after, answer, sentence.is_question, is_short, is_only)
        last = event if event[0] is not None else last
    if last[0] is None and RESTATEMENT.search(text) and not sentence.is_question:
        return False, True
    return last


def _mention(
    before: str, after: str, answer: WordAnswer, is_question: bool, is_short: bool, is_only: bool
) -> tuple[bool | None, bool]:
    """Return what one mention of the answer commits to, as `_event` does.

    before, after: its sentence next to it, up to REACH characters.
    """
    if is_denied(before, after):
        after = after[:WINDOW]
        content = {word for word in after.split() if len(word) > OPENING_WORDS}
        concerns = not after.strip(EDGES) or RESTATED in after or TELLS.search(after) or answer.words & content
        return (False, True) if concerns or not _opens(before) else (None, False)
    if is_supposed(before) or (is_question and (before.strip(EDGES) or not after.startswith(","))):
        return None, False
    if not answer.is_one_of_several and _is_one_of_two(before, after, answer):
        return False, True
    is_complement = _is_complement(before)
    is_stated = is_complement or (RESTATED in after and _opens(before)) or _has_marker(before)
    if _opens(before):
        fits = STATED_AFTER.match(after) is not None or is_short
        return (True, is_stated) if fits else (None, False)
    if is_complement or INTRODUCED.search(before[-WINDOW:]) or (is_only and is_short):
        return True, is_stated
    return None, False


def _opens(before: str) -> bool:
    return len(before) < WINDOW and len(before.split()) < OPENING_WORDS


def _is_complement(before: str) -> bool:
    """Return whether the text before an answer is a restated question and a few words that lead to its answer."""
    _, restated, between = before.rpartition(RESTATED)
    return (
        bool(restated)
        and len(between) < WINDOW
        and len(between.split()) <= COMPLEMENT_WORDS
        and JOINS.search(between) is None
    )


def _has_marker(before: str) -> bool:
    return MARKER.search(before[-WINDOW:]) is not None


def _is_one_of_two(before: str, after: str, answer: WordAnswer) -> bool:
    """Return whether the sentence offers another answer beside it: "Paris or London"."""
    others = alternatives(before, after)
    listed = LISTED_BEFORE.search(before[-WINDOW:]) or LISTED_AFTER.match(after[:WINDOW])
    others += WORD.findall(listed[0]) if listed else []
    if (pair := COORDINATED.match(after)) and pair[1] not in PREDICATES:
        others.append(pair[1])
    firsts = {right.split()[0] for right in answer.right}
    return any(bare(other) not in firsts | answer.words for other in others)


def _is_list_of_guesses(sentences: list[Sentence], answer: WordAnswer) -> bool:
    """Return whether the whole text is a list of short items, of which one is the answer and others are not."""
    if answer.is_one_of_several:
        return False
    texts = [sentence.text for sentence in sentences]
    texts = [text for text in texts if RESTATED not in text]
    if not texts:
        return False
    items = texts[0].split(",") if len(texts) == 1 else texts
    items = [bare(item) for item in items if bare(item)]
    least = LIST_ITEMS if len(texts) == 1 else 2
    others = {item for item in items if item not in answer.right and not set(item.split()) <= answer.words}
    is_list = len(items) >= least and all(len(item.split()) <= 2 for item in items)
    return is_list and bool(others) and any(item in answer.right for item in items)


def _positions(text: str, answer: WordAnswer) -> list[tuple[int, int]]:
    """Return (start, end) of the answers in the text, plurals, missing accents and small slips included, in order."""
    spans = set()
    plain = without_accents(text)
    same_length = len(plain) == len(text)
    for right in answer.right:
        if len(right) > MAX_ANSWER:
            at = text.find(right)
            spans |= {(at, at + len(right))} if at >= 0 else set()
            continue
        forms = {right, f"{right}s"} if right[-1:].isalpha() and len(right) > CASED_LETTERS else {right}
        for form in forms:
            spans |= {match.span() for match in mention_pattern(form).finditer(text)}
            if same_length:
                spans |= {match.span() for match in mention_pattern(without_accents(form)).finditer(plain)}
        if len(right) >= SLIP_LETTERS and right.isalpha():
            spans |= {match.span() for match in WORD.finditer(text) if _is_slip(match[0], right)}
    return sorted(spans)


def _is_slip(word: str, right: str) -> bool:
    """Return whether a word differs from the answer by one letter, or by two neighbours that changed places."""
    if word[0] != right[0] or abs(len(word) - len(right)) > 1 or word == right:
        return False
    at = next((i for i, (a, b) in enumerate(zip(word, right, strict=False)) if a != b), min(len(word), len(right)))
    return (
        word[at + 1 :] == right[at + 1 :]
        or word[at:] == right[at + 1 :]
        or word[at + 1 :] == right[at:]
        or (word[at : at + 2] == right[at : at + 2][::-1] and word[at + 2 :] == right[at + 2 :])
    )
