r"""Tables as LaTeX: a booktabs `tabular` for papers, with readable numbers and escaped texts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from runs.metrics import Provenance
from runs.tables.numbers import MINUS, PLAIN, THIN, NumberStyle, count, number
from runs.tables.table import Absent, Badge, Cell, Code, Column, Drawing, Interval, Link, Mean, Note, Table

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


def latex(table: Table, notes: Sequence[str] = ()) -> str:
    r"""Return the table as a LaTeX `tabular` that needs the package booktabs.

    A mean is drawn as `$0.3 \pm 0.1$ ($n = 4$)`, and an interval as `$1034$ $[990, 1080]$`. notes: lines of the comment
    above the table, such as the query and the number of runs.
    """
    rows = (*table.rows, table.total) if table.total else table.rows
    columns = [(column, [row[place] for row in rows]) for place, column in enumerate(table.typed)]
    texts = [[_cell(cell, column.style) for cell in cells] for column, cells in columns]
    alignment = "".join("r" if _is_number(column, cells) else "l" for column, cells in columns)
    lines = [
        *(f"% {_line(note)}" for note in ("Needs \\usepackage{booktabs}.", *notes)),
        rf"\begin{{tabular}}{{{alignment}}}", r"\toprule",
        _row(map(escape, table.heads)), r"\midrule",
        *map(_row, zip(*texts, strict=True)), r"\bottomrule", r"\end{tabular}",
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


def _is_number(column: Column, cells: Sequence[Cell]) -> bool:
    """Return whether the column holds numbers, which are aligned to the right, and not texts."""
    if column.style.as_text or column.kind in (Interval, Mean):
        return not column.style.as_text
    numbers = [isinstance(cell, int | float) for cell in cells if cell is not None]
    return any(numbers) and all(numbers)


def _cell(cell: Cell, style: NumberStyle) -> str:
    match cell:
        case None | "" | Absent():
            return NONE
        case int() | float():
            return _value(cell, style)
        case Interval():
            return _interval(cell, style)
        case Mean():
            return _mean(cell, style)
        case Provenance():
            return escape(cell.words)
        case Badge() | Link() | Code() | Note():
            return escape(cell.text)
        case tuple() | Drawing():
            raise TypeError(f"LaTeX has no cells of kind {type(cell).__name__}; select other columns")
    return escape(str(cell))


def _interval(cell: Interval, style: NumberStyle) -> str:
    if style.as_text and cell.value is not None:
        n = "" if cell.n is None else f", n = {count(cell.n)}"
        return escape(f"{style.page(cell.value)} [{style.interval(cell.low, cell.high)}]{n}")
    text = _cell(cell.value, style)
    if cell.low is None or cell.high is None:
        return text
    return f"{text} $[{_digits(cell.low, style)}, {_digits(cell.high, style)}]$"


def _mean(cell: Mean, style: NumberStyle) -> str:
    text = _cell(cell.value, style)
    if isinstance(cell.value, int | float) and cell.width is not None and math.isfinite(cell.width):
        text = rf"${_digits(cell.value, style)} \pm {_digits(cell.width, style)}$"
    return text if cell.n is None else f"{text} ($n = {cell.n}$)"


def _value(value: float, style: NumberStyle) -> str:
    if style.as_text:
        return escape(style.page(value))
    if isinstance(value, int):
        return f"${value}$"
    return "NaN" if math.isnan(value) else f"${_digits(value, style)}$"


def _digits(value: float, style: NumberStyle = PLAIN) -> str:
    """Return a number as math: a true minus, grouped thousands, and a power of ten instead of e−5."""
    mantissa, e, exponent = number(float(round(value)) if style.rounds else value).partition("e")
    text = rf"{mantissa} \times 10^{{{exponent}}}" if e else mantissa
    return text.replace(MINUS, "-").replace(THIN, r"\,").replace("∞", r"\infty")
