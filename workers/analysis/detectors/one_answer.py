"""Measure whether one answer goes to many prompts: the same words, or a template with small changes.

Which answer is the common one depends on the data. So each response is a candidate; the responses to other prompts,
which are independent of it, are counted. Of N candidates, N times the level of one are refused by chance, on average;
the x responses of a common answer are refused together. So its p-value is N / x times the largest of theirs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from workers.analysis.collapse.duplicates import SHINGLE_WORDS, SIMILAR, clusters
from workers.analysis.detectors.facts import EvaluatedResponse, normalized

MIN_TEMPLATE_WORDS = 6
"""Shorter texts count as the same answer only if they are equal."""
MAX_WORDINGS = 200
"""Wordings of a template that are candidates of their own; with more, N takes the place of N / x."""
Shingles: TypeAlias = frozenset[tuple[str, ...]]
Table: TypeAlias = tuple[int, int, int, int]
Shows: TypeAlias = Callable[[EvaluatedResponse], bool]


@dataclass(frozen=True)
class CommonAnswer:
    """An answer that responses to several prompts share. tables: for each candidate, (responses to other prompts that
    give it, of n, the same before training, of m, which are 0 without a base). factor: of the largest p-value. shows:
    whether a response gives it. expected: responses to prompts for which it is right."""

    tables: tuple[Table, ...]
    factor: float
    shows: Shows
    expected: int = 0


def same_answer(now: Sequence[EvaluatedResponse], before: Sequence[EvaluatedResponse]) -> CommonAnswer | None:
    """Return the answer that responses to most other prompts give in the same words, right or wrong; None if none is
    shared."""
    members: dict[str, list[EvaluatedResponse]] = defaultdict(list)
    for response in now:
        if not response.is_empty:
            members[normalized(response)].append(response)
    answer = _most_shared(members)
    if answer is None:
        return None

    def shows(response: EvaluatedResponse) -> bool:
        return not response.is_empty and normalized(response) == answer

    right_for = {_question(response) for response in members[answer] if response.is_right}
    expected = sum(_question(response) in right_for for response in now)
    factor = len(now) / len(members[answer])
    return CommonAnswer(_tables(shows, now, before, lambda r: r.prompt), factor, shows, expected)


def template(
    now: Sequence[EvaluatedResponse], before: Sequence[EvaluatedResponse], least_share: float = 0.0
) -> CommonAnswer | None:
    """Return the near-duplicate that responses to most other prompts give; None if at most `least_share` of them could.

    Nearly equal: a Jaccard similarity of the three-word shingles of SIMILAR and above, as on the collapse page.
    """
    long = [response for response in now if _is_long(response)]
    if not long or _most_frequent_shingle(long) <= least_share * len(now):
        return None
    groups = clusters([response.words for response in long])
    members = {f"{i}": [long[j] for j in positions] for i, positions in enumerate(groups)}
    largest = _most_shared(members)
    if largest is None:
        return None
    shows = _near(members[largest][0])
    copies = list(filter(shows, now))
    wordings = {response.words: response for response in copies}
    if len(wordings) > MAX_WORDINGS:
        return CommonAnswer(_tables(shows, now, before, _question), float(len(now)), shows)
    tables = {table for wording in wordings.values() for table in _tables(_near(wording), now, before, _question)}
    return CommonAnswer(tuple(sorted(tables)), len(now) / len(copies), shows)


def _is_long(response: EvaluatedResponse) -> bool:
    return len(response.words) >= MIN_TEMPLATE_WORDS and not response.is_right


def _question(response: EvaluatedResponse) -> str:
    """Return what makes prompts differ: the expected answer, since one answer may be legitimate for all that have it,
    else the prompt."""
    return response.target.strip().casefold() or response.prompt


def _most_shared(members: Mapping[str, Sequence[EvaluatedResponse]]) -> str | None:
    """Return the key of the group with the most responses to other prompts than its first; None if all have none."""
    others = {key: sum(_question(r) != _question(group[0]) for r in group) for key, group in members.items()}
    best = max(others, key=lambda key: (others[key], key), default=None)
    return best if best is not None and others[best] else None


def _tables(
    shows: Shows,
    now: Sequence[EvaluatedResponse],
    before: Sequence[EvaluatedResponse],
    question: Callable[[EvaluatedResponse], str],
) -> tuple[Table, ...]:
    """Return the distinct tables of the candidates that give an answer: one for each of their questions at most."""
    all_now, all_before = (Counter(map(question, side)) for side in (now, before))
    given, given_before = (Counter(map(question, filter(shows, side))) for side in (now, before))
    count, earlier, n, m = given.total(), given_before.total(), len(now), len(before)
    tables = {(count - given[q], n - all_now[q], earlier - given_before[q], m - all_before[q]) for q in given}
    return tuple(sorted(tables))


def _near(response: EvaluatedResponse) -> Shows:
    shingles = _shingles(response.words)
    return lambda other: _is_long(other) and _similarity(_shingles(other.words), shingles) >= SIMILAR


def _most_frequent_shingle(responses: Iterable[EvaluatedResponse]) -> int:
    counted: Counter[tuple[str, ...]] = Counter()
    for words, times in Counter(response.words for response in responses).items():
        for shingle in _shingles(words):
            counted[shingle] += times
    return max(counted.values(), default=0)


def _shingles(words: Sequence[str]) -> Shingles:
    return frozenset(zip(*(words[i:] for i in range(SHINGLE_WORDS)), strict=False))


def _similarity(first: Shingles, other: Shingles) -> float:
    return len(first & other) / len(first | other)
