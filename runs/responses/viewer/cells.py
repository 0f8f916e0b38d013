"""Cells of the viewer: responses with their numbers, and their differences from the pinned column's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.db import connection
from django.urls import reverse

from runs.models import Prompt, Response, Score
from runs.responses.diff import Piece, diff_pieces, similarity
from runs.responses.viewer.annotations import Chip
from runs.responses.viewer.columns import Column, Columns
from runs.responses.viewer.correctness import correctness_of
from runs.responses.viewer.queries import Row
from runs.responses.viewer.response_query import ResponseQuery
from workers.analysis.quadrants import quadrant

MIN_SIMILARITY = 0.3
"""Minimum similarity of marked responses; below it everything would be marked."""
DIGEST_LENGTH = 16
REPEATED_SQL = """
SELECT r.run_id, r.step, r.text_key, count(DISTINCT p.text_key) FROM runs_response r
JOIN runs_prompt p ON p.id = r.prompt_id
WHERE r.run_id = ANY(%s) AND r.step = ANY(%s) AND split = 'eval' AND NOT is_superseded AND words IS NOT NULL
  AND r.text_key = ANY(%s)
GROUP BY 1, 2, 3 HAVING count(DISTINCT p.text_key) > 1
"""


@dataclass(frozen=True)
class Cell:
    """A response in a column, None if there is none. `others`: number of other prompts' texts with it."""

    column: Column
    response: Response | None
    reward: float | None = None
    cost: float | None = None
    others: int = 0
    dreward: float | None = None
    dcost: float | None = None
    pieces: list[Piece] | None = None
    is_unlike: bool = False
    chips: Sequence[Chip] = ()
    """Annotations of other apps, compared with the pinned response."""

    @property
    def has_text(self) -> bool:
        """Return whether the cell shows the text of a response: the text is known and not empty."""
        return self.response is not None and bool(self.response.words)

    @property
    def quadrant(self) -> str:
        """Return SH, SU, UH or UU; empty if the response was not scored."""
        return "" if self.reward is None or self.cost is None else quadrant(self.reward, self.cost)

    @property
    def correctness(self) -> str:
        """Return right, contains or wrong; empty if the task has no right answers or there is no response."""
        return "" if self.response is None else correctness_of(self.response)

    @property
    def address(self) -> str:
        """Return the address of the response's own page; empty if there is no response."""
        return "" if self.response is None else response_address(self.response, self.column)


@dataclass(frozen=True)
class PromptRow:
    """A row: a prompt, and each column's response. `kinds`: the prompt's categories, each with the address of the rows
    that have it."""

    prompt: Prompt
    sample: int
    cells: list[Cell]
    kinds: Sequence[tuple[str, str]] = ()


def response_address(response: Response, column: Column) -> str:
    """Return the response's own address: run, step, and the prompt's digest, which covers the row of the data set."""
    digest = response.prompt.digest[:DIGEST_LENGTH]
    address = reverse("viewer-response", args=[column.run.uid, response.step, digest])
    return f"{address}?sample={response.sample}" if response.sample else address


def rows_of(
    rows: Sequence[Row],
    columns: Columns,
    query: ResponseQuery,
    *,
    differing: bool,
    chips: Mapping[int, Sequence[Chip]] | None = None,
) -> list[PromptRow]:
    """Return the rows for the page; chips: response id -> chips. Three queries, four with a scorer's scores."""
    ids = [pk for row in rows for pk in row.answers if pk is not None]
    answers = Response.objects.in_bulk(ids)
    prompts = Prompt.objects.in_bulk([row.cursor.prompt for row in rows])
    for response in answers.values():
        response.prompt = prompts[response.prompt_id]
    scores = scores_of(ids, query.scorer)
    repeated = _repeated(columns, list(answers.values()))
    out = []
    for row in rows:
        responses = [answers.get(pk) if pk is not None else None for pk in row.answers]
        cells = [
            _cell(column, response, scores, repeated) for column, response in zip(columns.all, responses, strict=True)
        ]
        compared = [_compare_with_pinned(cell, cells[columns.pin], differing=differing) for cell in cells]
        compared = [
            replace(cell, chips=(chips or {}).get(pk or 0, ())) for cell, pk in zip(compared, row.answers, strict=True)
        ]
        out.append(PromptRow(prompts[row.cursor.prompt], row.cursor.sample, compared))
    return out


def scores_of(ids: Sequence[int], scorer: str) -> Mapping[tuple[int, str], float] | None:
    """Return (response id, reward or cost) -> the scorer's score; None if the run's own numbers are shown."""
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


def _compare_with_pinned(cell: Cell, pinned: Cell, *, differing: bool) -> Cell:
    """Return the cell with its differences from the pinned cell of its row."""
    if cell is pinned or cell.response is None or pinned.response is None:
        return cell
    base, text = pinned.response.text, cell.response.text
    is_unlike = differing and similarity(base, text) < MIN_SIMILARITY
    diff = diff_pieces(base, text) if differing and not is_unlike else None
    return Cell(
        cell.column, cell.response, cell.reward, cell.cost, cell.others, _over(cell.reward, pinned.reward),
        _over(cell.cost, pinned.cost), diff, is_unlike,
    )  # fmt: skip


def _over(value: float | None, base: float | None) -> float | None:
    return None if value is None or base is None else value - base


def _repeated(columns: Columns, answers: Sequence[Response]) -> dict[tuple[int, int, int], int]:
    """Return (run, step, key of a text) -> number of prompts of different texts that got this response."""
    keys = list({response.text_key for response in answers})
    runs, steps = [column.run.pk for column in columns.all], [column.step for column in columns.all]
    with connection.cursor() as cursor:
        cursor.execute(REPEATED_SQL, [runs, steps, keys])
        return {(run, step, key): n for run, step, key, n in cursor.fetchall()}
