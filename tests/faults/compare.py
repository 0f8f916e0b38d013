"""The table of planted faults before and after a change of the suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.faults.kills import Outcome
from tests.faults.mutations import Fault


def table(faults: Sequence[Fault], before: Mapping[int, Outcome], after: Mapping[int, Outcome]) -> str:
    """Return a Markdown table, a row for each fault, and under it how many of the faults found before are found."""
    header = "| # | place | fault | before | after | found by |\n|---:|---|---|---|---|---|"
    rows = [_row(number, fault, before.get(number), after.get(number)) for number, fault in enumerate(faults)]
    detected = [number for number, outcome in before.items() if outcome.is_killed]
    still = [number for number in detected if number in after and after[number].is_killed]
    newly = [number for number, outcome in after.items() if outcome.is_killed and number not in detected]
    share = f" ({100 * len(still) / len(detected):.1f} %)" if detected else ""
    summary = (
        f"Found before: {len(detected)} of {len(faults)}. Of these found now: {len(still)}{share}. New: {len(newly)}."
    )
    return "\n".join([header, *rows, "", summary])


def _row(number: int, fault: Fault, before: Outcome | None, after: Outcome | None) -> str:
    change = f"`{_short(fault.original)}` → `{_short(fault.replacement)}`"
    test = next((outcome.test for outcome in (after, before) if outcome and outcome.test), "")
    results = (outcome.result if outcome else "not run" for outcome in (before, after))
    cells = (str(number), f"`{fault.path}` {fault.function}", f"{fault.kind}: {change}", *results, _short(test))
    return f"| {' | '.join(cells)} |"


def _short(text: str) -> str:
    line = " ".join(text.split()).replace("|", "\\|")
    return line if len(line) <= 70 else f"{line[:69]}…"
