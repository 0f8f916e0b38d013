"""Sentences about missing or doubtful ratings, each with placeholders for its values.

Boards store the sentences in English, and their hashes depend on them. `parse_sentences` recovers a sentence and its
values, so that it can be translated.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from string import Formatter

UNSEEN = "{who} was in no comparison that counts: it has no rating."
UNBEATEN = "{who} won every comparison: its rating has no upper bound, so it has none."
WINLESS = "{who} lost every comparison: its rating has no lower bound, so it has none."
UNCONNECTED = "No comparison joins these, so nothing says which is better: {sets}."
WITHIN = "Ratings hold only within each of these groups, and are not comparable between them: {sets}."
UNBOUNDED = (
    "Wins and ties of {names} leave {ties} ratings without bounds: they have none. Ties as half-wins, or more votes, "
    "give some."
)
ONE_CLUSTER = "All votes come from one cluster ({units} are drawn): nothing says how sure the ratings are."
TOO_NARROW = "Intervals over {clusters} clusters ({units} are drawn) are too narrow: take {few} or more."
"""Boards had this sentence when their intervals were percentiles of resamples; stored ones still do."""
FEW_CLUSTERS = "Intervals over {clusters} clusters ({units} are drawn) are only rough: take {few} or more."
LEFT_OUT_OF_INTERVALS = (
    "In {failed} of {all} resamples there are no ratings, as where somebody is unbeaten, winless or unconnected: "
    "intervals leave them out."
)
"""A sentence of stored boards, as TOO_NARROW is."""
LEFT_OUT = (
    "In {failed} of {all} resamples there are no ratings, as where somebody is unbeaten, winless or unconnected: "
    "probabilities of ranks leave them out."
)
NO_INTERVALS = (
    "In {failed} of {all} resamples there are no ratings, as where somebody is unbeaten, winless or unconnected: "
    "at {level} there are no intervals. More votes or a prior give some."
)
NO_VOTE = "There is no vote that counts, so there are no ratings."
NOT_COMPARABLE = "{anchor} is not comparable with everybody: who is not has no anchored rating."
PRIOR = "Every pair that met was given {prior} wins each way: ratings are drawn together by that."
FAILED = "{failed} of {all} judgments failed; they count for nobody."
NO_CONTROL_VALUES = "No vote says what the controls ask for."
ALL_ALIKE = "{name} is the same in every comparison: it explains nothing"
FOLLOWS = "one of the controls follows from the others and from who met whom: it cannot be told apart"
TOO_FEW = "{votes} votes in {clusters} clusters are too few for {effects} effects"
NO_FINITE = "who met whom and the controls together tell winners from losers without exception: no finite effect fits"

SENTENCES = (
    UNSEEN, UNBEATEN, WINLESS, UNCONNECTED, WITHIN, UNBOUNDED, ONE_CLUSTER, TOO_NARROW, FEW_CLUSTERS,
    LEFT_OUT_OF_INTERVALS, LEFT_OUT, NO_INTERVALS, NO_VOTE, NOT_COMPARABLE, PRIOR, FAILED, NO_CONTROL_VALUES,
    ALL_ALIKE, FOLLOWS, TOO_FEW, NO_FINITE,
)  # fmt: skip
WORD_END = r"(?: |\Z)"


def placeholders(sentence: str) -> list[str]:
    """Return the names of the sentence's values."""
    return [name for _, name, _, _ in Formatter().parse(sentence) if name]


def parse_sentences(text: str) -> list[tuple[str, dict[str, str]]]:
    """Return (sentence, values) of each sentence of a text, in order; nothing if any part of the text is unknown."""
    fixed_parts = _FixedParts(text)
    path: list[_Match] = []
    choices = [fixed_parts.matches(0)]
    # A name may hold any number of sentences: without this, all their combinations would be tried.
    tried = {0}
    while choices:
        match = next(choices[-1], None)
        if match is None:
            choices.pop()
            del path[-1:]
        elif match.end == len(text):
            return [(match.sentence, match.values(text)) for match in (*path, match)]
        elif match.end + 1 not in tried:
            tried.add(match.end + 1)
            path.append(match)
            choices.append(fixed_parts.matches(match.end + 1))
    return []


@dataclass(frozen=True)
class _Match:
    """A sentence in a text: the spans of its values, and the position behind it."""

    sentence: str
    spans: tuple[tuple[int, int], ...]
    end: int

    def values(self, text: str) -> dict[str, str]:
        """Return the values by their names."""
        return {name: text[slice(*span)] for name, span in zip(placeholders(self.sentence), self.spans, strict=True)}


class _FixedParts:
    """Positions of the sentences' fixed parts in a text. Each part is searched once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._positions: dict[tuple[str, bool], list[int]] = {}

    def matches(self, start: int) -> Iterator[_Match]:
        """Yield the matches that begin here, the shortest first, then matches of all that is left.

        A name may contain anything, even the end of a sentence.
        """
        short = (self._match(sentence, start, is_whole=False) for sentence in SENTENCES)
        yield from sorted(filter(None, short), key=lambda match: match.end)
        yield from filter(None, (self._match(sentence, start, is_whole=True) for sentence in SENTENCES))

    def _match(self, sentence: str, start: int, *, is_whole: bool) -> _Match | None:
        """Match a sentence. Each value is as short as possible, except the last one of a match of all that is left."""
        first, *parts = _PARTS[sentence]
        at, spans = start + len(first), []
        if not self._text.startswith(first, start):
            return None
        for number, part in enumerate(parts, 1):
            position = self._position(part, at + 1, is_last=number == len(parts), is_whole=is_whole)
            if position < 0:
                return None
            spans.append((at, position))
            at = position + len(part)
        ends_here = at == len(self._text) or (not is_whole and self._text[at] == " ")
        return _Match(sentence, tuple(spans), at) if ends_here else None

    def _position(self, part: str, start: int, *, is_last: bool, is_whole: bool) -> int:
        """Return where a part begins, at `start` or later; -1 if nowhere. The last one ends a word."""
        if is_last and is_whole:
            position = len(self._text) - len(part)
            return position if position >= start and self._text.endswith(part) else -1
        positions = self._all_positions(part, is_last=is_last)
        index = bisect_left(positions, start)
        return positions[index] if index < len(positions) else -1

    def _all_positions(self, part: str, *, is_last: bool) -> list[int]:
        if (part, is_last) not in self._positions:
            pattern = re.compile(f"(?={re.escape(part)}{WORD_END if is_last else ''})")
            self._positions[part, is_last] = [match.start() for match in pattern.finditer(self._text)]
        return self._positions[part, is_last]


_PARTS = {sentence: [part for part, _, _, _ in Formatter().parse(sentence)] for sentence in SENTENCES}
"""Sentence -> its fixed parts: one before, between and after its values."""
