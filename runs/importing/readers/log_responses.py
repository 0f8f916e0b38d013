"""Read answers that a log prints in blocks: prompt, target, completion over any number of lines, reward."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from runs.importing.numbers import parse_number
from runs.importing.readers.log_lines import ANSWERS
from workers.analysis.answer_texts import TextCounts, accuracies
from workers.analysis.right import RIGHT_PART, is_equal, is_right, mentions
from workers.records import Response

NUMBERED = re.compile(r"^\s*\[(\d{1,9})/(\d{1,9})\]")
PART = re.compile(r"^\s{2,8}(Prompt|Target|Generated|Completion|Reward):\s?(.*)$")
LENGTH = re.compile(r"^(.*) \(len=(\d+)\)$", re.DOTALL)
MAX_LINES, MAX_CHARACTERS = 400, 200_000
"""Maximum lines and characters of one answer. A longer text is not a block of answers."""


@dataclass
class Block:
    """A block that is being read. `feed` takes its lines until it returns that a line does not belong to the block.

    `whole`: number of answers that the block announces, 0 before it does.
    """

    split: str
    step: int
    is_sampled: bool
    parts: dict[str, list[str]] = field(default_factory=dict)
    open: str = ""
    prompt_counts: Counter[str] = field(default_factory=Counter)
    in_sample: bool = False
    size: int = 0
    whole: int = 0

    def feed(self, text: str) -> tuple[bool, Response | None]:
        """Return (whether the line belongs to the block, the answer that it completes or None)."""
        if self.in_sample and (match := PART.match(text)):
            self.open = {"Generated": "Completion"}.get(match[1], match[1])
            self.parts[self.open] = [match[2]]
            return True, self._finish_answer() if self.open == "Reward" else None
        if (numbered := NUMBERED.match(text)) and self.open != "Completion":
            self.whole = max(self.whole, int(numbered[2]))
            self.parts, self.open, self.in_sample, self.size = {}, "", True, 0
            return True, None
        if self.open:
            self.parts[self.open].append(text)
            self.size += len(text)
            return len(self.parts[self.open]) < MAX_LINES and self.size < MAX_CHARACTERS, None
        belongs = not text.strip() or set(text.strip()) == {"-"} or text.startswith("  ")
        return belongs, None

    @property
    def is_unfinished(self) -> bool:
        """Return whether the block is within an answer."""
        return bool(self.open)

    def _finish_answer(self) -> Response | None:
        texts = {name: "\n".join(lines) for name, lines in self.parts.items()}
        self.parts, self.open, self.in_sample = {}, "", False
        reward = parse_number(texts.get("Reward", ""))
        if reward is None or "Completion" not in texts or "Prompt" not in texts:
            return None
        prompt, target = texts["Prompt"], _text(texts.get("Target", ""))
        sample = self.prompt_counts[prompt] + int(self.is_sampled)
        self.prompt_counts[prompt] += 1
        return answer(self.step, self.split, prompt, target, sample, _text(texts["Completion"]), reward)


def block(text: str, *, is_sampled: bool) -> Block | None:
    """Return the block that a line such as `[Eval Completions - Step 50]` opens; None if it opens none."""
    match = ANSWERS.match(text) if text.startswith("[") else None
    return Block(match[1].lower(), int(match[2]), is_sampled) if match else None


def answer(
    step: int, split: str, prompt: str, target: str, sample: int, text: str, reward: float,
    tokens: int = 0, parts: dict[str, float] | None = None,
) -> Response:  # fmt: skip
    """Return an answer as a record, with flags for agreement with its target, if it has one. `tokens` 0: not stated."""
    verdict = is_right(text, target, prompt)
    flags = {} if verdict is None else {
        RIGHT_PART: float(verdict), "exact": float(is_equal(text, target)), "contains": float(mentions(text, target)),
    }  # fmt: skip
    parts = flags | (parts or {})
    return Response(step, split, prompt[:200], sample, text, tokens, reward, parts, None, prompt, target)


def curves_of(answers: Sequence[Response]) -> dict[str, float]:
    """Return values that are computed from the answers of one evaluation, means over them; `eval/n` is their number.

    accuracy/right, accuracy/exact and accuracy/contains, if every answer has a target; response/tokens_mean, if the
    tokens of every answer are stated; and the values of `TextCounts`.
    """
    if not answers:
        return {}
    counts = TextCounts()
    for response in answers:
        counts.add(response.text, response.prompt or "")
    has_token_counts = any(r.tokens for r in answers) and all(r.tokens or not r.text for r in answers)
    tokens = {"response/tokens_mean": fmean(r.tokens for r in answers)} if has_token_counts else {}
    return accuracies([r.parts for r in answers]) | counts.values() | tokens | {"eval/n": float(len(answers))}


def _text(printed: str) -> str:
    """Return the printed text without the length after it."""
    match = LENGTH.match(printed)
    return match[1] if match else printed
