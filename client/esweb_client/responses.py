"""Fields of responses and populations, from sequences of plain values, tensors or arrays."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from esweb_client.notices import warn_once
from esweb_client.values import BadValue, encode_float, flatten, to_float, to_int

MAX_SPLIT = 20
MAX_CATEGORY = 100
MAX_CATEGORIES = 32
PROMPT_ID_DIGITS = 16
SMALL = 2**31


class SampleNumbers:
    """Numbers of the samples of each prompt within one step and split, also over several calls."""

    def __init__(self) -> None:
        self._of = (0, "")
        self._counts: Counter[str] = Counter()

    def take(self, step: int, split: str, prompt_id: str) -> int:
        """Return the number of the next sample of the prompt, from 0."""
        if (step, split) != self._of:
            self._of, self._counts = (step, split), Counter()
        number = self._counts[prompt_id]
        self._counts[prompt_id] += 1
        return number


def response_fields(
    responses: Sequence[Any], step: int, split: str, numbers: SampleNumbers, columns: Mapping[str, Sequence[Any] | None]
) -> list[dict[str, Any]]:
    """Return the fields of a record for each response. `columns` are the other sequences, of the same length.

    Raise BadValue if a sequence has another length.
    """
    rows = [_text(response) for response in _items(responses)]
    table = {name: _items(column) for name, column in columns.items() if column is not None}
    for name, column in table.items():
        if len(column) != len(rows):
            raise BadValue(f"{name} has {len(column)} entries, but there are {len(rows)} responses")
    return [
        _response(text, step, split[:MAX_SPLIT], numbers, {name: column[row] for name, column in table.items()})
        for row, text in enumerate(rows)
    ]


def _response(text: str, step: int, split: str, numbers: SampleNumbers, row: Mapping[str, Any]) -> dict[str, Any]:
    prompt = None if row.get("prompts") is None else _text(row["prompts"])
    prompt_id = row.get("prompt_ids")
    identity = digest(text if prompt is None else prompt) if prompt_id is None else _text(prompt_id)
    sample = row.get("samples")
    fields: dict[str, Any] = {
        "step": step,
        "split": split,
        "prompt_id": identity,
        "sample": numbers.take(step, split, identity) if sample is None else _count("samples", sample),
        "text": text,
        "tokens": _count("tokens", row.get("tokens", 0)),
        "reward": encode_float(_number("rewards", row.get("rewards"))),
    }
    optional = {
        "parts": _parts(row.get("parts")),
        "kl": None if row.get("kl") is None else encode_float(_number("kl", row["kl"])),
        "prompt": prompt,
        "target": None if row.get("targets") is None else _text(row["targets"]),
        "categories": _categories(row.get("categories")),
    }
    return {**fields, **{name: value for name, value in optional.items() if value not in (None, {}, [])}}


def population_members(members: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the members of a population. Members without a whole seed and a reward are dropped with a warning."""
    fields = []
    for member in members:
        try:
            fields.append(_member(member))
        except (BadValue, KeyError, TypeError, ValueError, IndexError) as error:
            warn_once(
                "member", f"a member of a population is dropped: it must be (seed, reward) or a mapping ({error})"
            )
    return fields


def digest(text: str) -> str:
    """Return the id of a prompt without one: equal prompts have equal ids."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:PROMPT_ID_DIGITS]


def _member(member: Any) -> dict[str, Any]:
    if not isinstance(member, Mapping):
        seed, reward = member
        member = {"seed": seed, "reward": reward}
    fields: dict[str, Any] = {"seed": to_int(member["seed"]), "reward": encode_float(to_float(member["reward"]))}
    if parts := _parts(member.get("parts")):
        fields["parts"] = parts
    if member.get("z") is not None:
        fields["z"] = encode_float(to_float(member["z"]))
    return fields


def _items(column: Any) -> list[Any]:
    """Return a sequence, tensor or array as a list."""
    return list(column.tolist() if hasattr(column, "tolist") else column)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _number(name: str, value: Any) -> float:
    """Return the number; NaN, which is no score, if there is none."""
    if value is None:
        return float("nan")
    try:
        return to_float(value)
    except BadValue as error:
        warn_once(f"column {name}", f"an entry of {name} counts as missing: it {error}")
        return float("nan")


def _count(name: str, value: Any) -> int:
    try:
        count = to_int(value)
    except BadValue:
        count = -1
    if 0 <= count < SMALL:
        return count
    warn_once(f"column {name}", f"an entry of {name} counts as 0: it must be a whole number from 0 to {SMALL - 1}")
    return 0


def _parts(parts: Any) -> dict[str, float | str]:
    if not isinstance(parts, Mapping):
        return {}
    return {key: encode_float(value) for key, value in flatten(parts)}


def _categories(categories: Any) -> list[str]:
    names = [categories] if isinstance(categories, str) else list(categories or ())
    stripped = dict.fromkeys(_text(name).strip()[:MAX_CATEGORY].strip() for name in names)
    return [name for name in stripped if name and name.isprintable()][:MAX_CATEGORIES]
