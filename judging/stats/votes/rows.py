"""One row of a file of judgments -> a Judgment. What does not fit is refused in a sentence, never guessed at.

Two formats, told apart by their keys, which may stand in one row:

published   model_a, model_b, dimension, prompt_id, scores [a, b] or null, order_ab [model_a, model_b]
FastChat    model_a, model_b, winner (model_a, model_b, tie, tie (bothbad)), judge, question_id

Both may say `category`, a text or a list of them, and `lengths` [a, b]; a winner goes before what the scores say. And
what no other program says: `judge_kind`: "person" where the judge was one; `contestants`, those whom nobody judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from judging.stats.votes.judgments import Judgment
from judging.stats.votes.outcomes import Outcome

WINNERS = {
    "model_a": Outcome.A,
    "model_b": Outcome.B,
    "tie": Outcome.TIE,
    "tie (bothbad)": Outcome.BOTH_BAD,
    "unparsed": Outcome.UNPARSED,
    "refused": Outcome.REFUSED,
    "error": Outcome.ERROR,
}
ALSO = {"both_bad": Outcome.BOTH_BAD, "bothbad": Outcome.BOTH_BAD, "tie (inconsistent)": Outcome.TIE}
LETTERS = {"A": Outcome.A, "B": Outcome.B, "C": Outcome.TIE}
"""What judges say of sides, in brackets or without: of models only where model_a stood first."""
CRITERION = ("dimension", "criterion")
PROMPT = ("prompt_id", "question_id", "question", "prompt")
ANNOTATOR = ("judge", "annotator")
RATINGS = "holds ratings and no judgments: import the judgments that they were made of"
NAME_AT_MOST = 200
CATEGORIES_AT_MOST = 32
LARGEST = 1e300


def judgment(row: Any, alone: Callable[[], str]) -> Judgment:
    """The judgment of a parsed row; `alone` names its prompt where the row names none. Raises ValueError."""
    if not isinstance(row, Mapping):
        raise ValueError("is not a JSON object")
    if "scores" not in row and "winner" not in row:
        raise ValueError(RATINGS if _are_ratings(row) else "has neither scores nor winner")
    made = Judgment(
        _name(row, "model_a"),
        _name(row, "model_b"),
        criterion=_word(row, CRITERION),
        prompt=_first(row, PROMPT) or alone(),
        annotator=_word(row, ANNOTATOR),
        scores=_pair(row, "scores"),
        verdict=_verdict(row["winner"]) if "winner" in row else None,
        # FastChat's model_a is the left one by definition; scores without an order do not say.
        order_known="scores" not in row and "order_ab" not in row,
        categories=_categories(row),
        lengths=_pair(row, "lengths") or _arena_lengths(row),
        is_person=row.get("judge_kind") == "person",
        also=_also(row),
    )
    if made.model_a == made.model_b:
        raise ValueError(f"compares {made.model_a!r} with itself")
    return _in_order(made, row.get("order_ab"), row.get("winner"))


def _are_ratings(row: Mapping[str, Any]) -> bool:
    """True for {"ada": 1000, …}, or {"helpfulness": {"ada": 1000, …}, …}."""
    values = [own for value in row.values() for own in (value.values() if isinstance(value, Mapping) else [value])]
    return bool(values) and all(map(_is_number, values))


def _in_order(made: Judgment, order: Any, said: Any) -> Judgment:
    """As it was shown: a first."""
    if order is None:
        return made
    if order == [made.model_a, made.model_b]:
        return replace(made, order_known=True)
    if order != [made.model_b, made.model_a]:
        raise ValueError(f"has order_ab {order!r}, which is not its two models")
    if isinstance(said, str) and _bare(said) in LETTERS:
        raise ValueError("has order_ab against model_a and model_b, which leaves open whose letter the winner is")
    if made.scores:
        raise ValueError("has order_ab against model_a and model_b, which leaves open whose score is the first")
    swapped = {Outcome.A: Outcome.B, Outcome.B: Outcome.A}
    return replace(
        made, model_a=made.model_b, model_b=made.model_a, order_known=True,
        verdict=made.verdict if made.verdict is None else swapped.get(made.verdict, made.verdict),
        lengths=made.lengths and (made.lengths[1], made.lengths[0]),
    )  # fmt: skip


def _name(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if not _is_name(value):
        raise ValueError(f"has no {key} that is a name of at most {NAME_AT_MOST} characters without control characters")
    return str(value)


def _also(row: Mapping[str, Any]) -> tuple[str, ...]:
    said = row.get("contestants", [])
    if not isinstance(said, list) or not all(map(_is_name, said)):
        raise ValueError(f"has contestants {said!r}, which are no list of names")
    return tuple(said)


def _word(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    word = _first(row, keys)
    if not _is_shown(word):
        raise ValueError(f"has a {keys[0]} of more than {NAME_AT_MOST} characters, or with control characters")
    return word


def _categories(row: Mapping[str, Any]) -> tuple[str, ...]:
    said = row.get("category")
    names = [name for name in (said if isinstance(said, list) else [said]) if name not in (None, "")]
    words = tuple(dict.fromkeys(map(str, names)))
    if not all(map(_is_shown, words)):
        raise ValueError(f"has a category of more than {NAME_AT_MOST} characters, or with control characters")
    if len(words) > CATEGORIES_AT_MOST:
        raise ValueError(f"has {len(words)} categories, which are more than {CATEGORIES_AT_MOST}")
    return words


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and _is_shown(value)


def _is_shown(word: str) -> bool:
    """Names go to terminals and pages: an escape sequence is none."""
    return len(word) <= NAME_AT_MOST and word.isprintable()


def _first(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    """The first of the keys that says something, as text; a list's words beside each other."""
    value = next((row[key] for key in keys if row.get(key) not in (None, "", [])), "")
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _verdict(word: Any) -> Outcome:
    found = (WINNERS | ALSO | LETTERS).get(_bare(word)) if isinstance(word, str) else None
    if found is None:
        raise ValueError(f"has winner {word!r}; it is one of {', '.join(WINNERS)}")
    return found


def _bare(word: str) -> str:
    """`[[A]]` -> A; other words stay as they are."""
    return word[2:-2] if word[2:-2] in LETTERS and word == f"[[{word[2:-2]}]]" else word


def _pair(row: Mapping[str, Any], key: str) -> tuple[float, float] | None:
    value = row.get(key)
    if value is None:
        return None
    numbers = [one for one in value if _is_number(one)] if isinstance(value, list) else []
    if len(numbers) != 2 or len(value) != 2:
        raise ValueError(f"has {key} {value!r}, which are not two numbers")
    return float(numbers[0]), float(numbers[1])


def _arena_lengths(row: Mapping[str, Any]) -> tuple[float, float] | None:
    counts = row.get("conv_metadata")
    if not isinstance(counts, Mapping):
        return None
    pair = [counts.get(f"sum_assistant_{side}_tokens") for side in ("a", "b")]
    return (float(pair[0]), float(pair[1])) if all(map(_is_number, pair)) else None  # type: ignore[arg-type]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST
