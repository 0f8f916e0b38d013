"""Answers that a log prints in blocks: prompt, target, completion over any number of lines, reward."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from runs.importing.numbers import number
from runs.importing.readers.log_lines import ANSWERS
from workers.analysis.answer_texts import TextCounts, accuracies
from workers.records import Response
from workers.tasks.mention import mentions

NUMBERED = re.compile(r"^\s*\[(\d{1,9})/(\d{1,9})\]")
PART = re.compile(r"^\s{2,8}(Prompt|Target|Generated|Completion|Reward):\s?(.*)$")
LENGTH = re.compile(r"^(.*) \(len=(\d+)\)$", re.DOTALL)
LONGEST, MOST = 400, 200_000
"""Lines of one answer, and its characters. What goes on for longer is no block of answers."""


@dataclass
class Block:
    """A block that is being read. `feed` takes its lines until it says that one does not belong to it any more.

    `whole`: how many answers the block announces, 0 before it has.
    """

    split: str
    step: int
    is_sampled: bool
    parts: dict[str, list[str]] = field(default_factory=dict)
    open: str = ""
    asked: Counter[str] = field(default_factory=Counter)
    in_sample: bool = False
    size: int = 0
    whole: int = 0

    def feed(self, text: str) -> tuple[bool, Response | None]:
        """(the line belongs to the block, the answer that it completes)."""
        if self.in_sample and (match := PART.match(text)):
            self.open = {"Generated": "Completion"}.get(match[1], match[1])
            self.parts[self.open] = [match[2]]
            return True, self._done() if self.open == "Reward" else None
        if (numbered := NUMBERED.match(text)) and self.open != "Completion":
            self.whole = max(self.whole, int(numbered[2]))
            self.parts, self.open, self.in_sample, self.size = {}, "", True, 0
            return True, None
        if self.open:
            self.parts[self.open].append(text)
            self.size += len(text)
            return len(self.parts[self.open]) < LONGEST and self.size < MOST, None
        belongs = not text.strip() or set(text.strip()) == {"-"} or text.startswith("  ")
        return belongs, None

    @property
    def is_unfinished(self) -> bool:
        """True amid an answer."""
        return bool(self.open)

    def _done(self) -> Response | None:
        said = {name: "\n".join(lines) for name, lines in self.parts.items()}
        self.parts, self.open, self.in_sample = {}, "", False
        reward = number(said.get("Reward", ""))
        if reward is None or "Completion" not in said or "Prompt" not in said:
            return None
        prompt, target = said["Prompt"], _text(said.get("Target", ""))
        sample = self.asked[prompt] + int(self.is_sampled)
        self.asked[prompt] += 1
        return answer(self.step, self.split, prompt, target, sample, _text(said["Completion"]), reward)


def block(text: str, *, is_sampled: bool) -> Block | None:
    """The block that a line opens, `[Eval Completions - Step 50]`, if it opens one."""
    match = ANSWERS.match(text)
    return Block(match[1].lower(), int(match[2]), is_sampled) if match else None


def answer(
    step: int, split: str, prompt: str, target: str, sample: int, text: str, reward: float,
    tokens: int = 0, parts: dict[str, float] | None = None,
) -> Response:  # fmt: skip
    """An answer as a record, with what it takes to see whether it is right. `tokens` 0: not told."""
    said, wanted = text.strip(), target.strip()
    flags = {"exact": float(said == wanted), "contains": float(mentions(said, wanted))} if wanted else {}
    parts = flags | (parts or {})
    return Response(step, split, prompt[:200], sample, text, tokens, reward, parts, None, prompt, target)


def curves_of(answers: Sequence[Response]) -> dict[str, float]:
    """Return what the answers of one evaluation say by themselves, each a mean over answers; `eval/n` is their number.

    accuracy/exact and accuracy/contains, if every answer has a target; response/tokens_mean, if the tokens of every
    answer are told; and the values of `TextCounts`.
    """
    if not answers:
        return {}
    counts = TextCounts()
    for one in answers:
        counts.add(one.text, one.prompt or "")
    is_told = any(one.tokens for one in answers) and all(one.tokens or not one.text for one in answers)
    tokens = {"response/tokens_mean": fmean(one.tokens for one in answers)} if is_told else {}
    return accuracies([one.parts for one in answers]) | counts.values() | tokens | {"eval/n": float(len(answers))}


def _text(printed: str) -> str:
    """Return the printed text without the length after it."""
    match = LENGTH.match(printed)
    return match[1] if match else printed
