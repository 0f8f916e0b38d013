"""Parse the dictionaries that TRL and similar trainers print, `{'loss': 0.5, …}`, with the steps that they state."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from runs.importing.numbers import parse_number, unwrap_numbers
from runs.importing.readers.log_lines import COUNT, count_of
from runs.importing.steps import PROGRESS_NAMES, StatedStep, stated_step
from workers.config.shallow_json import MAX_DEPTH

ITEM_KEY = re.compile(r"""['"]([^'"]{1,250})['"]\s*+:(\s*+)""")
ITEM_VALUE = re.compile(r"""['"][^'"]*['"]|[^,{}\[\]]+""")
DICTIONARY = re.compile(r"""\{\s*['"]""")
NESTED, BRACE = re.compile(r"\{[^{}]*\}"), re.compile(r"[{}]")
TRL_WORDS = ("loss", "grad_norm", "learning_rate", "reward", "epoch", "eval_loss", "eval_reward", "train_runtime", "kl")
TRL_BEGINS = re.compile(
    r"""\{\s*['"](?:loss|grad_norm|learning_rate|reward|rewards/|epoch|eval_|train_|kl|step|num_tokens|completions/)"""
)
STEP_BEFORE = re.compile(
    r"(?<![\w.:/-])(?:global[_ ]?|train(?:ing)?[_ ]|optimizer[_ ])?(?:step|iteration|iter|update)s?"
    r"[ \]]?[:=#]?[ \[(]?" + COUNT + r"(?:[ ]?/[ ]?" + COUNT + r")?(?![\w.])",
    re.IGNORECASE,
)
"""Match a step that a line states before its dictionary: `Global step 12: {…}`, `[Iteration 3/9] {…}`, `step=4 {…}`.

Not the line of code that a logger names, as in `trainer.py:step:81`."""
MAX_TEXT_BEFORE = 200
MAX_LENGTH, MAX_LINES = 32_768, 60
"""Maximum characters and lines of a dictionary that is wrapped."""


@dataclass
class WrappedDictionary:
    """The lines so far of a dictionary that does not end in its first line."""

    opened_at: int
    """Number of its first line."""
    before: StatedStep | None
    """The step that the line states before it."""
    parts: list[str] = field(default_factory=list)
    depth: int = 0
    length: int = 0

    def add(self, part: str) -> int:
        """Take the next part. Return the index of the brace in it that ends the dictionary; -1 if none does."""
        end, self.depth = find_closing_brace(part, self.depth)
        self.parts.append(part if end < 0 else part[: end + 1])
        self.length += len(part)
        return end

    @property
    def text(self) -> str:
        return "".join(self.parts)


def find_step_before(text: str) -> StatedStep | None:
    """Return the step that a line states before its dictionary, the last one of several; None if it states none."""
    stated = [StatedStep(count_of(m[1]), count_of(m[2] or "0")) for m in STEP_BEFORE.finditer(text[-MAX_TEXT_BEFORE:])]
    return stated[-1] if stated else None


def parse_dictionary(text: str) -> dict[str, float] | None:
    """Return the numbers of a dictionary that TRL prints, `{'loss': 0.1, …}`; None if it is not one of TRL's."""
    numbers = {key: value for key, text_value in _items(text) if (value := parse_number(text_value)) is not None}
    is_trl = any(key in TRL_WORDS or key.startswith(("eval_", "rewards/", "completions/")) for key in numbers)
    return numbers if is_trl else None


def _items(text: str) -> Iterator[tuple[str, str]]:
    """Yield keys and values as printed; a nested dictionary has the value <dictionary>."""
    begin = text.find("{") + 1
    inside = unwrap_numbers(text[begin : text.rfind("}")])
    for _ in range(MAX_DEPTH):
        inside, count = NESTED.subn("<dictionary>", inside)
        if not count:
            break
    at, last_bracket = 0, inside.rfind("]")
    while key := ITEM_KEY.search(inside, at):
        begin = key.end()
        is_list = inside.startswith("[", begin) and begin < last_bracket
        value = None if is_list else ITEM_VALUE.match(inside, begin)
        if is_list or value:
            at = value.end() if value else inside.index("]", begin) + 1
            yield key[1], inside[begin:at]
        elif key[2]:
            at = begin
            yield key[1], ""
        else:
            at = key.start() + 1


def find_closing_brace(text: str, depth: int = 0) -> tuple[int, int]:
    """Return (index of the brace that ends a dictionary, its depth there): -1 and the depth at the end if none does.

    depth: number of braces that are open before the text.
    """
    for match in BRACE.finditer(text):
        depth += 1 if match[0] == "{" else -1
        if not depth:
            return match.start(), 0
    return -1, depth


def find_dictionary(text: str) -> int:
    """Return the index at which a dictionary begins that TRL may have printed; -1 if none does."""
    match = DICTIONARY.search(text) if "{" in text else None
    return match.start() if match else -1


def begins_trl(text: str) -> bool:
    """Return whether a text begins with a dictionary of TRL's, complete or not."""
    return TRL_BEGINS.match(text) is not None


def find_step(text: str) -> StatedStep | None:
    """Return the step that a TRL dictionary states, as in `'global_step/max_steps': '10/438'`; None if it has none."""
    stated = stated_step(dict(_items(text)))
    return None if stated is None else stated[1]


def unreadable_values(text: str) -> list[tuple[str, str]]:
    """Return the keys and values of a TRL dictionary that are not numbers, except those of its progress."""
    values = ((key, value) for key, value in _items(text) if parse_number(value) is None)
    return [(key, value.strip("'\" ")) for key, value in values if key not in PROGRESS_NAMES]
