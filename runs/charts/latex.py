r"""Tables as LaTeX: a booktabs `tabular` for papers, with readable numbers and escaped texts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runs.charts.chart import MINUS, THIN, Cell, Table, number
from runs.metrics import Provenance

MEAN, N = " mean", " n"
WIDTHS = (" std", " se", " ci95")
"""Ends of column names: `kl mean`, one of `kl std`, `kl se` and `kl ci95`, and `kl n` become one column `kl`."""
VALUE, LOW, HIGH = " value", " low", " high"
"""Ends of column names: `rating value`, `rating low` and `rating high` become one column `rating`."""
NONE = "--"
ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "[": "{[}", "*": "{*}", "–": "--", MINUS: "$-$", "±": r"$\pm$", "×": r"$\times$",
    "≠": r"$\neq$", "≤": r"$\leq$", "≥": r"$\geq$", "√": r"$\surd$", "λ": r"$\lambda$", "Δ": r"$\Delta$",
    "σ": r"$\sigma$", "α": r"$\alpha$", "β": r"$\beta$", THIN: r"\,", "…": r"\dots{}",
}  # fmt: skip
"""Characters -> LaTeX. A bracket or a star after a row's end would be read as an option of that end."""
CONTROLS = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]+")


@dataclass(frozen=True)
class _Column:
    """A column of the file: its head, its alignment, and its cells from the top."""

    head: str
    is_number: bool
    cells: list[str]


def latex(table: Table, notes: Sequence[str] = ()) -> str:
    r"""Return the table as a LaTeX `tabular` that needs the package booktabs.

    Columns named `kl mean`, `kl std` (or `kl se`, `kl ci95`) and `kl n` become one column `kl` of cells such as
    `$0.3 \pm 0.1$ ($n = 4$)`. Columns named `rating value`, `rating low` and `rating high` become one column `rating`
    of cells such as `$1034$ $[990, 1080]$`. notes: lines of the comment above the table, such as the query and the
    number of runs.
    """
    columns = _columns(table)
    alignment = "".join("r" if column.is_number else "l" for column in columns)
    rows = zip(*(column.cells for column in columns), strict=True) if table.rows else ()
    lines = [
        *(f"% {_line(note)}" for note in ("Needs \\usepackage{booktabs}.", *notes)),
        rf"\begin{{tabular}}{{{alignment}}}", r"\toprule", _row(column.head for column in columns), r"\midrule",
        *map(_row, rows), r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Return text that LaTeX prints as it is, on one line."""
    return "".join(ESCAPES.get(character, character) for character in _line(text))


def _line(text: str) -> str:
    """Return text without line ends and control characters, which would end a comment or a row."""
    return CONTROLS.sub(" ", text).strip()


def _row(cells: Iterable[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _columns(table: Table) -> list[_Column]:
    """Return the columns of the file, with each mean, its width and its n, and each value and its interval, merged."""
    columns = [[row[place] for row in table.rows] for place in range(len(table.columns))]
    values = dict(zip(table.columns, columns, strict=True))
    means = {name: name.removesuffix(MEAN) for name in table.columns if name.endswith(MEAN)}
    intervals = {
        f"{stem}{VALUE}": stem
        for stem in (name.removesuffix(VALUE) for name in table.columns)
        if all(f"{stem}{end}" in values for end in (VALUE, LOW, HIGH))
    }
    parts = {f"{stem}{end}" for stem in means.values() for end in (*WIDTHS, N)}
    parts |= {f"{stem}{end}" for stem in intervals.values() for end in (LOW, HIGH)}
    merged = {name: _mean_column(stem, values) for name, stem in means.items()}
    merged |= {name: _interval_column(stem, values) for name, stem in intervals.items()}
    return [
        merged.get(name) or _column(head, cells)
        for name, head, cells in zip(table.columns, table.heads, columns, strict=True)
        if name not in parts
    ]


def _column(head: str, cells: Sequence[Cell]) -> _Column:
    is_number = any(isinstance(cell, int | float) for cell in cells) and all(
        cell is None or isinstance(cell, int | float) for cell in cells
    )
    return _Column(escape(head), is_number, [_cell(cell) for cell in cells])


def _mean_column(stem: str, values: dict[str, list[Cell]]) -> _Column:
    means, empty = values[f"{stem}{MEAN}"], [None] * len(values[f"{stem}{MEAN}"])
    widths = next((values[f"{stem}{end}"] for end in WIDTHS if f"{stem}{end}" in values), empty)
    counts = values.get(f"{stem}{N}", empty)
    cells = [_mean_cell(*parts) for parts in zip(means, widths, counts, strict=True)]
    return _Column(escape(stem), True, cells)


def _interval_column(stem: str, values: dict[str, list[Cell]]) -> _Column:
    bounds = (values[f"{stem}{end}"] for end in (VALUE, LOW, HIGH))
    return _Column(escape(stem), True, [_interval_cell(*cells) for cells in zip(*bounds, strict=True)])


def _interval_cell(value: Cell, low: Cell, high: Cell) -> str:
    text = _cell(value)
    if isinstance(low, int | float) and isinstance(high, int | float):
        text = f"{text} $[{_digits(low)}, {_digits(high)}]$"
    return text


def _mean_cell(mean: Cell, width: Cell, n: Cell) -> str:
    text = _cell(mean)
    if isinstance(mean, int | float) and isinstance(width, int | float) and math.isfinite(width):
        text = rf"${_digits(mean)} \pm {_digits(width)}$"
    return text if n is None else f"{text} ($n = {n}$)"


def _cell(cell: Cell) -> str:
    if cell is None or cell == "":
        return NONE
    if isinstance(cell, Provenance):
        return escape(cell.words)
    if isinstance(cell, str):
        return escape(cell)
    return f"${cell}$" if isinstance(cell, int) else _number(cell)


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return f"${_digits(value)}$"


def _digits(value: float) -> str:
    """Return a number as math: a true minus, grouped thousands, and a power of ten instead of e−5."""
    mantissa, e, exponent = number(value).partition("e")
    text = rf"{mantissa} \times 10^{{{exponent}}}" if e else mantissa
    return text.replace(MINUS, "-").replace(THIN, r"\,").replace("∞", r"\infty")
