"""Fill the viewer's rows and columns: answers with their numbers, and how they differ from the pinned one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.db import connection
from django.urls import reverse

from runs.models import Prompt, Response, Score
from runs.responses.diff import Piece, likeness, pieces
from runs.responses.viewer.annotations import Chip
from runs.responses.viewer.columns import Column, Columns
from runs.responses.viewer.queries import Row
from runs.responses.viewer.response_query import ResponseQuery
from workers.analysis.quadrants import quadrant

ALIKE_AT_LEAST = 0.3
"""Of answers that have less in common everything would be marked."""
DIGEST_SHOWN = 16
REPEATED = """
SELECT r.run_id, r.step, r.text_key, count(DISTINCT p.text_key) FROM runs_response r
JOIN runs_prompt p ON p.id = r.prompt_id
WHERE r.run_id = ANY(%s) AND r.step = ANY(%s) AND split = 'eval' AND NOT is_superseded AND words IS NOT NULL
  AND r.text_key = ANY(%s)
GROUP BY 1, 2, 3 HAVING count(DISTINCT p.text_key) > 1
"""


@dataclass(frozen=True)
class Cell:
    """An answer in a column; None where the column has none. `others`: prompts of another text that got it too."""

    column: Column
    response: Response | None
    reward: float | None = None
    cost: float | None = None
    others: int = 0
    dreward: float | None = None
    dcost: float | None = None
    pieces: list[Piece] | None = None
    is_unlike: bool = False
    told: Sequence[Chip] = ()
    """What others tell of it, against the pinned one."""

    @property
    def quadrant(self) -> str:
        """SH, SU, UH or UU; empty where it was not scored."""
        return "" if self.reward is None or self.cost is None else quadrant(self.reward, self.cost)

    @property
    def address(self) -> str:
        """Return the address of the answer alone; empty if there is none."""
        return "" if self.response is None else address_of(self.response, self.column)


@dataclass(frozen=True)
class Asking:
    """A row: a prompt, and what each column answered it. `kinds`: the prompt's categories, each with the address of the
    rows that have it."""

    prompt: Prompt
    sample: int
    cells: list[Cell]
    kinds: Sequence[tuple[str, str]] = ()


def address_of(response: Response, column: Column) -> str:
    """The answer's own address: its run, its step, and its prompt by digest, which holds the row of the data set."""
    digest = response.prompt.digest[:DIGEST_SHOWN]
    address = reverse("viewer-response", args=[column.run.uid, response.step, digest])
    return f"{address}?sample={response.sample}" if response.sample else address


def rows_of(
    found: Sequence[Row],
    columns: Columns,
    asked: ResponseQuery,
    *,
    differing: bool,
    told: Mapping[int, Sequence[Chip]] | None = None,
) -> list[Asking]:
    """The rows as the page shows them; told: answer -> further chips. Three queries, four with a scorer's scores."""
    ids = [pk for row in found for pk in row.answers if pk is not None]
    answers = Response.objects.select_related("prompt").in_bulk(ids)
    prompts = Prompt.objects.in_bulk([row.place.prompt for row in found])
    scores = scores_of(ids, asked.scorer)
    repeated = _repeated(columns, list(answers.values()))
    out = []
    for row in found:
        given = [answers.get(pk) if pk is not None else None for pk in row.answers]
        cells = [_cell(column, response, scores, repeated) for column, response in zip(columns.all, given, strict=True)]
        held = [_held(cell, cells[columns.pin], differing=differing) for cell in cells]
        held = [replace(cell, told=(told or {}).get(pk or 0, ())) for cell, pk in zip(held, row.answers, strict=True)]
        out.append(Asking(prompts[row.place.prompt], row.place.sample, held))
    return out


def scores_of(ids: Sequence[int], scorer: str) -> Mapping[tuple[int, str], float] | None:
    """(primary key of an answer, reward or cost) -> the scorer's score; None where the run's own numbers are shown."""
    if not scorer:
        return None
    rows = Score.objects.filter(response__in=ids, scorer=scorer).values_list("response", "key", "value")
    return {(pk, key): value for pk, key, value in rows}


def _cell(
    column: Column,
    response: Response | None,
    scores: Mapping[tuple[int, str], float] | None,
    repeated: Mapping[tuple[int, int, int], int],
) -> Cell:
    if response is None:
        return Cell(column, None)
    others = repeated.get((response.run_id, response.step, response.text_key), 1) - 1
    if scores is None:
        return Cell(column, response, response.reward, response.cost, others)
    return Cell(column, response, scores.get((response.pk, "reward")), scores.get((response.pk, "cost")), others)


def _held(cell: Cell, pinned: Cell, *, differing: bool) -> Cell:
    """The cell held against the pinned one of its row."""
    if cell is pinned or cell.response is None or pinned.response is None:
        return cell
    base, text = pinned.response.text, cell.response.text
    is_unlike = differing and likeness(base, text) < ALIKE_AT_LEAST
    shown = pieces(base, text) if differing and not is_unlike else None
    return Cell(
        cell.column, cell.response, cell.reward, cell.cost, cell.others, _over(cell.reward, pinned.reward),
        _over(cell.cost, pinned.cost), shown, is_unlike,
    )  # fmt: skip


def _over(value: float | None, base: float | None) -> float | None:
    return None if value is None or base is None else value - base


def _repeated(columns: Columns, answers: Sequence[Response]) -> dict[tuple[int, int, int], int]:
    """(run, step, key of a text) -> how many prompts of different texts got it as their answer."""
    keys = list({response.text_key for response in answers})
    runs, steps = [column.run.pk for column in columns.all], [column.step for column in columns.all]
    with connection.cursor() as cursor:
        cursor.execute(REPEATED, [runs, steps, keys])
        return {(run, step, key): n for run, step, key, n in cursor.fetchall()}
