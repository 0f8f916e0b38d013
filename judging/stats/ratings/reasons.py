"""What is said of ratings that do not exist, or are to be doubted: each sentence once, with the places of its values.

Boards keep sentences as they were said, in English, and their hashes rest on them. `recognised` finds the sentence and
its values again, for whoever says it in another language.
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
NOT_SAID = "No vote says what the controls ask for."
ALL_ALIKE = "{name} is the same in every comparison: it explains nothing"
FOLLOWS = "one of the controls follows from the others and from who met whom: it cannot be told apart"
TOO_FEW = "{votes} votes in {clusters} clusters are too few for {effects} effects"
NO_FINITE = "who met whom and the controls together tell winners from losers without exception: no finite effect fits"

SENTENCES = (
    UNSEEN, UNBEATEN, WINLESS, UNCONNECTED, WITHIN, UNBOUNDED, ONE_CLUSTER, FEW_CLUSTERS, LEFT_OUT, NO_INTERVALS,
    NO_VOTE, NOT_COMPARABLE, PRIOR, FAILED, NOT_SAID, ALL_ALIKE, FOLLOWS, TOO_FEW, NO_FINITE,
)  # fmt: skip
PLACE = re.compile(r"\\\{(\w+)\\\}")


def places(sentence: str) -> list[str]:
    """The names of its values."""
    return [name for _, name, _, _ in Formatter().parse(sentence) if name]


def recognised(said: str) -> list[tuple[str, dict[str, str]]]:
    """(sentence, its values) of each sentence of a text, in their order; nothing where any of it is none of these."""
    for sentence, found in _beginnings(said):
        if found.end() == len(said):
            return [(sentence, found.groupdict())]
        if after := recognised(said[found.end() + 1 :]):
            return [(sentence, found.groupdict()), *after]
    return []


def _beginnings(said: str) -> list[tuple[str, re.Match[str]]]:
    """The shortest first, then those that are all of it: names may hold anything, even a sentence's end."""
    short = [(sentence, found) for sentence, pattern in _PATTERNS if (found := pattern.match(said))]
    whole = [(sentence, found) for sentence, pattern in _PATTERNS if (found := pattern.fullmatch(said))]
    return [*sorted(short, key=lambda one: one[1].end()), *whole]


def _pattern(sentence: str) -> re.Pattern[str]:
    return re.compile(PLACE.sub(r"(?P<\1>.+?)", re.escape(sentence)) + r"(?= |\Z)", re.S)


_PATTERNS = [(sentence, _pattern(sentence)) for sentence in SENTENCES]
