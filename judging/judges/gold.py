"""Files of pairs with known verdicts -> gold sets. A line that does not fit is named, and nothing is guessed.

JSON lines, or one JSON list. Three formats, distinguished by their keys:

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

MAX_PAIRS = 20_000
MAX_BYTES = 50_000_000
MAX_TEXT_LENGTH = 100_000
EXPECTED = ("a", "b", "tie")
TEXTS = {
    "response_0": ("prompt", "response_0", "response_1"),
    "output_1": ("input", "output_1", "output_2"),
}
"""Map of a key that only one format has to the keys of its prompt and its two responses."""
OWN_KEYS = ("prompt", "response_a", "response_b")
PKU_CRITERIA = {"better_response_id": "helpfulness", "safer_response_id": "harmlessness"}
BATCH = 1000


class CannotRead(ValueError):
    """Error for a file that is not a gold set. The message names the line and the problem."""


def save_gold_set(owner: User, name: str, data: bytes, *, is_private: bool = False) -> GoldSet:
    """Create the gold set of a file. Raise CannotRead."""
    if len(data) > MAX_BYTES:
        raise CannotRead(gettext("The file is larger than %(most)s MB.") % {"most": MAX_BYTES // 1_000_000})
    pairs = list(_pairs(data, set(Criterion.objects.visible_to(owner).values_list("slug", flat=True))))
    if not 1 <= len(pairs) <= MAX_PAIRS:
        message = gettext("A gold set must have 1 to %(most)s pairs, not %(n)s.")
        raise CannotRead(message % {"most": MAX_PAIRS, "n": len(pairs)})
    with transaction.atomic():
        gold_set = GoldSet.objects.create(
            name=name, owner=owner, is_private=is_private, sha256=sha256(data).hexdigest()
        )
        for position, pair in enumerate(pairs):
            pair.gold_set, pair.place = gold_set, position
        GoldPair.objects.bulk_create(pairs, batch_size=BATCH)
    return gold_set


def _pairs(data: bytes, criteria: set[str]) -> Iterator[GoldPair]:
    try:
        text = data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise CannotRead(gettext("The file is not UTF-8 text.")) from None
    is_list = text.lstrip().startswith("[")
    for number, row in enumerate(_parse_list(text) if is_list else text.split("\n"), 1):
        if isinstance(row, str) and not row.strip():
            continue
        try:
            yield _pair(row if is_list else loads(row), criteria)
        except ValueError as error:
            reason = gettext("is not JSON") if isinstance(error, json.JSONDecodeError) else str(error)
            raise CannotRead(gettext("Line %(n)s %(why)s.") % {"n": number, "why": reason}) from None


def _parse_list(text: str) -> list[Any]:
    try:
        return list(loads(text))
    except ValueError:
        raise CannotRead(gettext("The file begins like a JSON list but is not valid JSON.")) from None


def _pair(row: Any, criteria: set[str]) -> GoldPair:
    if not isinstance(row, Mapping):
        raise ValueError(gettext("is not a JSON object"))
    prompt, a, b = next((keys for key, keys in TEXTS.items() if key in row), OWN_KEYS)
    expected = (
        _pku_expected(row) if a == "response_0" else _llmbar_expected(row) if a == "output_1" else row.get("expected")
    )
    if not isinstance(expected, dict) or not expected or not all(outcome in EXPECTED for outcome in expected.values()):
        raise ValueError(gettext("has no expected outcome, which is a criterion with one of %s") % ", ".join(EXPECTED))
    if unknown := sorted(set(expected) - criteria):
        message = gettext("expects the unknown criteria %(unknown)s; known are %(known)s")
        raise ValueError(message % {"unknown": ", ".join(unknown), "known": ", ".join(sorted(criteria)) or "–"})
    category = row.get("category", "")
    return GoldPair(
        prompt=_text(row, prompt), text_a=_text(row, a), text_b=_text(row, b), expected=expected,
        category=category[:200] if isinstance(category, str) else "",
    )  # fmt: skip


def _pku_expected(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        PKU_CRITERIA[key]: "ab"[row[key]] for key in PKU_CRITERIA if type(row.get(key)) is int and row[key] in (0, 1)
    }


def _llmbar_expected(row: Mapping[str, Any]) -> dict[str, str]:
    return {"helpfulness": "ab"[row["label"] - 1]} if type(row.get("label")) is int and row["label"] in (1, 2) else {}


def _text(row: Mapping[str, Any], key: str) -> str:
    text = row.get(key)
    if not isinstance(text, str) or len(text) > MAX_TEXT_LENGTH or "\0" in text:
        message = gettext("must have %(key)s, a text of at most %(most)s characters")
        raise ValueError(message % {"key": key, "most": MAX_TEXT_LENGTH})
    return text
