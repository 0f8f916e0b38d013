"""Sentences about missing or doubtful ratings, each with placeholders for its values.

Boards store the sentences in English, and their hashes depend on them. `parse_sentences` recovers a sentence and its
values, so that it can be translated.
"""

from __future__ import annotations

import re
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
FEW_CLUSTERS = "Intervals over {clusters} clusters ({units} are drawn) are too narrow: take {few} or more."
LEFT_OUT = (
    "In {failed} of {all} resamples there are no ratings, as where somebody is unbeaten, winless or unconnected: "
    "intervals leave them out."
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
    UNSEEN, UNBEATEN, WINLESS, UNCONNECTED, WITHIN, UNBOUNDED, ONE_CLUSTER, FEW_CLUSTERS, LEFT_OUT, NO_INTERVALS,
    NO_VOTE, NOT_COMPARABLE, PRIOR, FAILED, NO_CONTROL_VALUES, ALL_ALIKE, FOLLOWS, TOO_FEW, NO_FINITE,
)  # fmt: skip
PLACEHOLDER = re.compile(r"\\\{(\w+)\\\}")


def placeholders(sentence: str) -> list[str]:
    """Return the names of the sentence's values."""
    return [name for _, name, _, _ in Formatter().parse(sentence) if name]


def parse_sentences(text: str) -> list[tuple[str, dict[str, str]]]:
    """Return (sentence, values) of each sentence of a text, in order; nothing if any part of the text is unknown."""
    for sentence, match in _sentence_matches(text):
        if match.end() == len(text):
            return [(sentence, match.groupdict())]
        if rest := parse_sentences(text[match.end() + 1 :]):
            return [(sentence, match.groupdict()), *rest]
    return []


def _sentence_matches(text: str) -> list[tuple[str, re.Match[str]]]:
    """Return the matches at the start of the text, the shortest first, then matches of the whole text.

    A name may contain anything, even the end of a sentence.
    """
    short = [(sentence, match) for sentence, pattern in _PATTERNS if (match := pattern.match(text))]
    whole = [(sentence, match) for sentence, pattern in _PATTERNS if (match := pattern.fullmatch(text))]
    return [*sorted(short, key=lambda pair: pair[1].end()), *whole]


def _pattern(sentence: str) -> re.Pattern[str]:
    return re.compile(PLACEHOLDER.sub(r"(?P<\1>.+?)", re.escape(sentence)) + r"(?= |\Z)", re.S)


_PATTERNS = [(sentence, _pattern(sentence)) for sentence in SENTENCES]
