"""Files of judges' replies with the verdicts that a careful reader takes from them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from judging.model_judge import Rubric

LABELLED, HELD_OUT = (Path(__file__).parent / f"{name}_replies.txt" for name in ("labelled", "held_out"))
HEAD = re.compile(
    r"=== (?P<outcome>A|B|tie|both_bad|unparsed)(?: (?P<a>[\d.]+) (?P<b>[\d.]+))?"
    r"(?: scale=(?P<low>\d+)\.\.(?P<high>\d+))? ; (?P<note>.+)"
)


@dataclass(frozen=True)
class LabelledReply:
    """A reply, and the outcome and scores that it states. `outcome` is the name of an Outcome."""

    note: str
    text: str
    outcome: str
    scores: tuple[float, float] | None
    rubric: Rubric


def read_replies(path: Path) -> Iterator[LabelledReply]:
    """Yield the replies of a file. Its first lines describe the form."""
    for case in re.split(r"^(?====)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, *lines = [line for line in case.split("\n") if not line.startswith("# ")]
        label = HEAD.fullmatch(head)
        assert label, head
        scores = (float(label["a"]), float(label["b"])) if label["a"] else None
        rubric = Rubric("helpfulness", "Which helps more.", float(label["low"] or 1), float(label["high"] or 10))
        yield LabelledReply(label["note"], "\n".join(lines).strip("\n"), label["outcome"].upper(), scores, rubric)
