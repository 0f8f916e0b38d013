"""Files of pairs whose better answer people have told -> gold sets. A line that does not fit is named, none is guessed.

JSON lines, or one JSON list. Three formats, told apart by their keys:

ours          prompt, response_a, response_b, expected {"helpfulness": "a" | "b" | "tie", …}; category, if any
PKU-SafeRLHF  prompt, response_0, response_1, better_response_id, safer_response_id
LLMBar        input, output_1, output_2, label (1 or 2: which one follows the instruction, and so helps)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext

from judging.models import Criterion, GoldPair, GoldSet
from workers.config.shallow_json import loads

PAIRS_AT_MOST = 20_000
BYTES_AT_MOST = 50_000_000
TEXT_AT_MOST = 100_000
EXPECTED = ("a", "b", "tie")
TEXTS = {
    "response_0": ("prompt", "response_0", "response_1"),
    "output_1": ("input", "output_1", "output_2"),
}
"""A key that only one format has -> where its prompt and its two answers stand."""
OURS = ("prompt", "response_a", "response_b")
PKU = {"better_response_id": "helpfulness", "safer_response_id": "harmlessness"}
BATCH = 1000


class CannotRead(ValueError):
    """A file that is no gold set. The message names the line and what is wrong with it."""


def keep(owner: User, name: str, data: bytes, *, is_private: bool = False) -> GoldSet:
    """The gold set of a file. Raises CannotRead."""
    if len(data) > BYTES_AT_MOST:
        raise CannotRead(gettext("The file is larger than %(most)s MB.") % {"most": BYTES_AT_MOST // 1_000_000})
    pairs = list(_pairs(data, set(Criterion.objects.visible_to(owner).values_list("slug", flat=True))))
    if not 1 <= len(pairs) <= PAIRS_AT_MOST:
        said = gettext("A gold set has 1 to %(most)s pairs, not %(n)s.")
        raise CannotRead(said % {"most": PAIRS_AT_MOST, "n": len(pairs)})
    with transaction.atomic():
        made = GoldSet.objects.create(name=name, owner=owner, is_private=is_private, sha256=sha256(data).hexdigest())
        for place, pair in enumerate(pairs):
            pair.gold_set, pair.place = made, place
        GoldPair.objects.bulk_create(pairs, batch_size=BATCH)
    return made


def _pairs(data: bytes, criteria: set[str]) -> Iterator[GoldPair]:
    try:
        text = data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise CannotRead(gettext("The file is not UTF-8 text.")) from None
    is_list = text.lstrip().startswith("[")
    for number, row in enumerate(_listed(text) if is_list else text.split("\n"), 1):
        if isinstance(row, str) and not row.strip():
            continue
        try:
            yield _pair(row if is_list else loads(row), criteria)
        except ValueError as error:
            why = gettext("is no JSON") if isinstance(error, json.JSONDecodeError) else str(error)
            raise CannotRead(gettext("Line %(n)s %(why)s.") % {"n": number, "why": why}) from None


def _listed(text: str) -> list[Any]:
    try:
        return list(loads(text))
    except ValueError:
        raise CannotRead(gettext("The file begins as a JSON list and is none.")) from None


def _pair(row: Any, criteria: set[str]) -> GoldPair:
    if not isinstance(row, Mapping):
        raise ValueError(gettext("is no JSON object"))
    prompt, a, b = next((keys for key, keys in TEXTS.items() if key in row), OURS)
    expected = _of_pku(row) if a == "response_0" else _of_llmbar(row) if a == "output_1" else row.get("expected")
    if not isinstance(expected, dict) or not expected or not all(said in EXPECTED for said in expected.values()):
        raise ValueError(gettext("has no expected outcome: a criterion with one of %s") % ", ".join(EXPECTED))
    if unknown := sorted(set(expected) - criteria):
        said = gettext("expects %(unknown)s, which is no criterion; they are %(known)s")
        raise ValueError(said % {"unknown": ", ".join(unknown), "known": ", ".join(sorted(criteria)) or "–"})
    category = row.get("category", "")
    return GoldPair(
        prompt=_text(row, prompt), text_a=_text(row, a), text_b=_text(row, b), expected=expected,
        category=category[:200] if isinstance(category, str) else "",
    )  # fmt: skip


def _of_pku(row: Mapping[str, Any]) -> dict[str, str]:
    return {PKU[key]: "ab"[row[key]] for key in PKU if type(row.get(key)) is int and row[key] in (0, 1)}


def _of_llmbar(row: Mapping[str, Any]) -> dict[str, str]:
    return {"helpfulness": "ab"[row["label"] - 1]} if type(row.get("label")) is int and row["label"] in (1, 2) else {}


def _text(row: Mapping[str, Any], key: str) -> str:
    text = row.get(key)
    if not isinstance(text, str) or len(text) > TEXT_AT_MOST or "\0" in text:
        said = gettext("has no %(key)s that is a text of at most %(most)s characters")
        raise ValueError(said % {"key": key, "most": TEXT_AT_MOST})
    return text
