"""Parse one row of a file of judgments. An invalid row is refused with a sentence; nothing is guessed.

Three formats, distinguished by their keys, which may be in one row:

published   model_a, model_b, dimension, prompt_id, scores [a, b] or null, order_ab [model_a, model_b]
FastChat    model_a, model_b, winner (model_a, model_b, tie, tie (bothbad)), judge, question_id
AlpacaEval  generator_1, generator_2, preference (1: the first is better, to 2: the second is), annotator, instruction

All may have `category`, a text or a list of texts, and `lengths` [a, b]; a winner has precedence over the scores. A
preference, or two scores without a winner that add up to 1, is soft: it counts in part for each response. Two
keys are of this program alone: `judge_kind`, "person" if the judge was human; `contestants`, those that nobody judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from judging.stats.votes.judgments import Judgment
from judging.stats.votes.outcomes import Outcome, outcome_of_preference, preference_of_scores, soft_share

WINNERS = {
    "model_a": Outcome.A,
    "model_b": Outcome.B,
    "tie": Outcome.TIE,
    "tie (bothbad)": Outcome.BOTH_BAD,
    "unparsed": Outcome.UNPARSED,
    "refused": Outcome.REFUSED,
    "error": Outcome.ERROR,
}
OTHER_SPELLINGS = {"both_bad": Outcome.BOTH_BAD, "bothbad": Outcome.BOTH_BAD, "tie (inconsistent)": Outcome.TIE}
LETTERS = {"A": Outcome.A, "B": Outcome.B, "C": Outcome.TIE}
"""Judges' letters for sides, in brackets or without. They stand for models only if model_a was in first position."""
CRITERION = ("dimension", "criterion")
PROMPT = ("prompt_id", "question_id", "question", "prompt", "instruction")
ANNOTATOR = ("judge", "annotator")
RATINGS = "contains ratings, not judgments: import the judgments that they were computed from"
MAX_NAME_LENGTH = 200
MAX_CATEGORIES = 32
LARGEST = 1e300


def parse_judgment(row: Any, unnamed_id: Callable[[], str]) -> Judgment:
    """Return the judgment of a parsed row; `unnamed_id` names its prompt if the row names none. Raise ValueError."""
    if not isinstance(row, Mapping):
        raise ValueError("is not a JSON object")
    if not any(key in row for key in ("scores", "winner", "preference")):
        raise ValueError(RATINGS if _are_ratings(row) else "has neither scores nor winner nor preference")
    judgment = Judgment(
        _name(row, "model_a", "generator_1"),
        _name(row, "model_b", "generator_2"),
        criterion=_word(row, CRITERION),
        prompt=_first_value(row, PROMPT) or unnamed_id(),
        annotator=_word(row, ANNOTATOR),
        scores=_pair(row, "scores"),
        verdict=_verdict(row["winner"]) if "winner" in row else _verdict_of_preference(row),
        # FastChat's model_a is the left one by definition; without a mere winner and an order, the order is open.
        order_known=not any(key in row for key in ("scores", "preference", "order_ab")),
        categories=_categories(row),
        lengths=_pair(row, "lengths") or _arena_lengths(row) or _output_lengths(row),
        is_person=row.get("judge_kind") == "person",
        other_contestants=_other_contestants(row),
        preference=_soft_preference(row),
    )
    if judgment.preference is not None and judgment.verdict not in (None, outcome_of_preference(judgment.preference)):
        raise ValueError(f"has preference {row['preference']!r}, which contradicts its winner {row['winner']!r}")
    if judgment.model_a == judgment.model_b:
        raise ValueError(f"compares {judgment.model_a!r} with itself")
    return _in_displayed_order(judgment, row.get("order_ab"), row.get("winner"))


def _are_ratings(row: Mapping[str, Any]) -> bool:
    """Return whether the row holds ratings: {"ada": 1000, …}, or {"helpfulness": {"ada": 1000, …}, …}."""
    values = [own for value in row.values() for own in (value.values() if isinstance(value, Mapping) else [value])]
    return bool(values) and all(map(_is_number, values))


def _in_displayed_order(judgment: Judgment, order: Any, winner: Any) -> Judgment:
    """Return the judgment as it was displayed, with a first. Raise ValueError if that is ambiguous."""
    if order is None:
        return judgment
    if order == [judgment.model_a, judgment.model_b]:
        return replace(judgment, order_known=True)
    if order != [judgment.model_b, judgment.model_a]:
        raise ValueError(f"has order_ab {order!r}, which must hold its two models")
    if isinstance(winner, str) and _without_brackets(winner) in LETTERS:
        raise ValueError("has an order_ab that contradicts model_a and model_b, so the winner's letter is ambiguous")
    if judgment.scores:
        raise ValueError(
            "has an order_ab that contradicts model_a and model_b, so the order of the scores is ambiguous"
        )
    swapped = {Outcome.A: Outcome.B, Outcome.B: Outcome.A}
    return replace(
        judgment, model_a=judgment.model_b, model_b=judgment.model_a, order_known=True,
        verdict=judgment.verdict if judgment.verdict is None else swapped.get(judgment.verdict, judgment.verdict),
        lengths=judgment.lengths and (judgment.lengths[1], judgment.lengths[0]),
        preference=None if judgment.preference is None else 1 - judgment.preference,
    )  # fmt: skip


def _soft_preference(row: Mapping[str, Any]) -> float | None:
    """Return a's share, by the preference, or by scores that are probabilities if there is no winner."""
    share = _share(row)
    if share is None and "winner" not in row and (scores := _pair(row, "scores")):
        share = preference_of_scores(*scores)
    return None if share is None else soft_share(share)


def _verdict_of_preference(row: Mapping[str, Any]) -> Outcome | None:
    """Return the outcome of a row's preference, UNPARSED if the preference is null; None without one."""
    if "preference" not in row:
        return None
    share = _share(row)
    return Outcome.UNPARSED if share is None else outcome_of_preference(share)


def _share(row: Mapping[str, Any]) -> float | None:
    """Return a's share of the preference: from 1, all for a, to 2, none for a. AlpacaEval's 0 is a tie."""
    value = row.get("preference")
    if value is None:
        return None
    if not _is_number(value) or not (value == 0 or 1 <= value <= 2):
        raise ValueError(f"has preference {value!r}, which must be from 1 (the first is better) to 2 (the second is)")
    return 2 - float(value) if value else 0.5


def _name(row: Mapping[str, Any], key: str, alternative: str) -> str:
    value = row.get(key, row.get(alternative))
    if not _is_name(value):
        raise ValueError(
            f"has no {key} that is a name of at most {MAX_NAME_LENGTH} characters without control characters"
        )
    return str(value)


def _other_contestants(row: Mapping[str, Any]) -> tuple[str, ...]:
    names = row.get("contestants", [])
    if not isinstance(names, list) or not all(map(_is_name, names)):
        raise ValueError(f"has contestants {names!r}, which must be a list of names")
    return tuple(names)


def _word(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    word = _first_value(row, keys)
    if not _is_displayable(word):
        raise ValueError(f"has a {keys[0]} of more than {MAX_NAME_LENGTH} characters, or with control characters")
    return word


def _categories(row: Mapping[str, Any]) -> tuple[str, ...]:
    value = row.get("category")
    names = [name for name in (value if isinstance(value, list) else [value]) if name not in (None, "")]
    words = tuple(dict.fromkeys(map(str, names)))
    if not all(map(_is_displayable, words)):
        raise ValueError(f"has a category of more than {MAX_NAME_LENGTH} characters, or with control characters")
    if len(words) > MAX_CATEGORIES:
        raise ValueError(f"has {len(words)} categories; the most is {MAX_CATEGORIES}")
    return words


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and _is_displayable(value)


def _is_displayable(word: str) -> bool:
    """Return whether a name is safe to display on terminals and pages; escape sequences are not."""
    return len(word) <= MAX_NAME_LENGTH and word.isprintable()


def _first_value(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    """Return the first value of the keys that is not empty, as text; a list's entries are joined with spaces."""
    value = next((row[key] for key in keys if row.get(key) not in (None, "", [])), "")
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _verdict(word: Any) -> Outcome:
    outcome = (WINNERS | OTHER_SPELLINGS | LETTERS).get(_without_brackets(word)) if isinstance(word, str) else None
    if outcome is None:
        raise ValueError(f"has the unknown winner {word!r}; known are {', '.join(WINNERS)}")
    return outcome


def _without_brackets(word: str) -> str:
    """Return A for `[[A]]`; return other words unchanged."""
    return word[2:-2] if word[2:-2] in LETTERS and word == f"[[{word[2:-2]}]]" else word


def _pair(row: Mapping[str, Any], key: str) -> tuple[float, float] | None:
    value = row.get(key)
    if value is None:
        return None
    numbers = [number for number in value if _is_number(number)] if isinstance(value, list) else []
    if len(numbers) != 2 or len(value) != 2:
        raise ValueError(f"has {key} {value!r}, which must be two numbers")
    return float(numbers[0]), float(numbers[1])


def _arena_lengths(row: Mapping[str, Any]) -> tuple[float, float] | None:
    counts = row.get("conv_metadata")
    if not isinstance(counts, Mapping):
        return None
    pair = [counts.get(f"sum_assistant_{side}_tokens") for side in ("a", "b")]
    return (float(pair[0]), float(pair[1])) if all(map(_is_number, pair)) else None  # type: ignore[arg-type]


def _output_lengths(row: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the lengths of AlpacaEval's responses in characters, which is its own control for length."""
    outputs = [row.get(key) for key in ("output_1", "output_2")]
    return (float(len(outputs[0])), float(len(outputs[1]))) if all(isinstance(o, str) for o in outputs) else None  # type: ignore[arg-type]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST
