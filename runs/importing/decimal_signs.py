"""Read the numbers of a table by the table: `1,250` is 1.25 in one with decimal commas, and 1250 in one with points.

All cells are seen first. A cell such as `0,693` or `12.5` can be read in one way only, and decides for its column, and
for columns that have no such cell. What remains ambiguous is refused: a wrong reading is off by a factor of a thousand.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from typing import BinaryIO

from runs.importing.numbers import parse_number

NUMERAL = re.compile(r"[-+]?([\d.,]++)([eE][-+]?\d{1,4})?")
COMMA_GROUPS = re.compile(r"[1-9]\d{0,2}(?:,\d{3}){1,8}")
POINT_GROUPS = re.compile(r"[1-9]\d{0,2}(?:\.\d{3}){1,8}")
SPACE_IN_GROUPS = re.compile(r"(?<=\d)[\u00a0\u202f\u2019'](?=\d{3}(?!\d))")
LABELLED_COMMA = re.compile(rb"[:=] ?[-+]?(?:0,\d|[1-9]\d{0,8},(?:\d{1,2}|\d{4,9})(?!\d|[,.]\d))")
LABELLED_GROUPS = re.compile(rb"[:=] ?[-+]?[1-9]\d{0,2},\d{3}(?!\d|[,.]\d)")
PIECE = 1 << 20
MAX_NUMERAL_LENGTH = 60
MINUS = "\N{MINUS SIGN}"
DECIMAL_COMMA_DELIMITER = ";"
"""Spreadsheets separate cells by it where the comma is the decimal sign."""
TWO_WAYS = "can be read in two ways: its sign is a decimal sign, or groups thousands"
OTHER_SIGN = "has a decimal comma; other cells of its column have a decimal point"


class Shape(Enum):
    """The ways in which the signs of a numeral can be read."""

    PLAIN = "no sign, as 12"
    POINT = "a decimal point, as 12.5 and 0.693"
    COMMA = "a decimal comma, as 12,5 and 0,693"
    POINT_AND_GROUPS = "a decimal point and grouping commas, as 1,234.5 and 1,234,567"
    COMMA_AND_GROUPS = "a decimal comma and grouping points, as 1.234,5 and 1.234.567"
    POINT_OR_GROUPS = "a decimal point, or one that groups, as 1.234"
    COMMA_OR_GROUPS = "a decimal comma, or one that groups, as 1,234"


class Sign(Enum):
    """The decimal sign of a column or a table; MIXED: some of its cells have a point, others a comma."""

    UNKNOWN = "unknown"
    POINT = "point"
    COMMA = "comma"
    MIXED = "mixed"


@dataclass
class Evidence:
    """The shapes in a column. `numbers` and `others` count its cells that are numerals, and those that are not."""

    has_point: bool = False
    has_comma: bool = False
    has_grouping_points: bool = False
    numbers: int = 0
    others: int = 0

    @property
    def sign(self) -> Sign:
        if self.has_point:
            return Sign.MIXED if self.has_comma else Sign.POINT
        return Sign.COMMA if self.has_comma else Sign.UNKNOWN

    @property
    def is_numeric(self) -> bool:
        """Return whether at least half of the cells are numbers. Texts with signs decide about no other column."""
        return self.numbers > 0 and self.numbers >= self.others

    def add(self, shape: Shape) -> None:
        """Take a numeral into account."""
        self.numbers += 1
        self.has_point |= shape in (Shape.POINT, Shape.POINT_AND_GROUPS)
        self.has_comma |= shape in (Shape.COMMA, Shape.COMMA_AND_GROUPS)
        self.has_grouping_points |= shape is Shape.COMMA_AND_GROUPS


class DecimalSigns:
    """The decimal signs of a table's columns. All of its cells are seen before the first one is read."""

    def __init__(self) -> None:
        self._columns: defaultdict[str, Evidence] = defaultdict(Evidence)
        self._delimiter = ","
        self._table = Sign.UNKNOWN
        self._has_grouping_points = False
        self._pointed = set[str]()
        self._examples: dict[Shape, str] = {}

    def see(self, column: str, cell: str | int | float) -> None:
        """Take a cell into account that is not empty."""
        evidence = self._columns[column]
        if isinstance(cell, int | float):
            # A number of JSON has a decimal point.
            evidence.numbers += 1
            evidence.has_point |= isinstance(cell, float)
        elif ("," in cell or ("." in cell and not evidence.has_point)) and (shape := shape_of(cell)) is not None:
            evidence.add(shape)
        elif _parse_plain(cell) is not None:
            evidence.numbers += 1
        else:
            evidence.others += 1

    def settle(self, delimiter: str) -> None:
        """Decide on the sign of the table, once all of its cells are seen."""
        self._delimiter = delimiter
        numeric = [evidence for evidence in self._columns.values() if evidence.is_numeric]
        signs = {evidence.sign for evidence in numeric} - {Sign.UNKNOWN}
        # Programs print points: a comma in a column of points is an exception, and does not decide for other columns.
        signs = {Sign.POINT if sign is Sign.MIXED else sign for sign in signs}
        self._table = Sign.MIXED if len(signs) > 1 else next(iter(signs), Sign.UNKNOWN)
        self._pointed = {column for column, evidence in self._columns.items() if evidence.has_point}
        self._has_grouping_points = any(evidence.has_grouping_points for evidence in numeric)

    def is_numeric(self, column: str) -> bool:
        """Return whether at least half of a column's cells are numbers."""
        return column in self._columns and self._columns[column].is_numeric

    def has_numbers(self, column: str) -> bool:
        """Return whether a column has a number."""
        return column in self._columns and self._columns[column].numbers > 0

    def parse_whole(self, column: str, cell: str) -> float | None:
        """Parse a cell of whole numbers; None if it is none. Where commas are decimal signs, points group: 1.000."""
        if self._table is Sign.COMMA and shape_of(cell) is Shape.POINT_OR_GROUPS and column not in self._pointed:
            return parse_number(_bare(cell).replace(".", ""))
        return self.parse(column, cell)[0]

    def parse(self, column: str, cell: str) -> tuple[float | None, str]:
        """Return (number, ""), or (None, why a numeral is refused), or (None, "") for a cell that is no numeral."""
        if "," not in cell and (column in self._pointed or "." not in cell):
            return _parse_plain(cell), ""
        shape = shape_of(cell)
        if shape is None:
            return parse_number(cell), ""
        own = self._columns[column].sign if column in self._columns else Sign.UNKNOWN
        sign = own if own is not Sign.UNKNOWN else self._table
        if shape is Shape.COMMA_OR_GROUPS:
            return self._comma(cell, own, sign)
        if shape is Shape.POINT_OR_GROUPS:
            return self._point(cell, own, sign)
        if shape in (Shape.COMMA, Shape.COMMA_AND_GROUPS):
            return (self._read(cell, shape, ","), "") if own is Sign.COMMA else (None, OTHER_SIGN)
        return self._read(cell, shape, "."), ""

    def facts(self) -> list[str]:
        """Return how signs were read, each with the first example."""
        comma = self._examples.get(Shape.COMMA)
        groups = self._examples.get(Shape.POINT_AND_GROUPS)
        facts = [f"its comma is the decimal sign: {comma}"] if comma else []
        return [*facts, f"its commas group thousands: {groups}"] if groups else facts

    def _comma(self, cell: str, own: Sign, sign: Sign) -> tuple[float | None, str]:
        """Read a numeral such as 1,234."""
        if sign is Sign.COMMA or (sign is Sign.UNKNOWN and self._delimiter == DECIMAL_COMMA_DELIMITER):
            return self._read(cell, Shape.COMMA, ","), ""
        is_grouped = self._table is Sign.POINT and own in (Sign.POINT, Sign.UNKNOWN)
        if is_grouped or (sign is Sign.UNKNOWN and self._delimiter == ","):
            return self._read(cell, Shape.POINT_AND_GROUPS, "."), ""
        return None, TWO_WAYS

    def _point(self, cell: str, own: Sign, sign: Sign) -> tuple[float | None, str]:
        """Read a numeral such as 1.234."""
        if own in (Sign.POINT, Sign.MIXED) or (own is Sign.UNKNOWN and sign in (Sign.POINT, Sign.UNKNOWN)):
            return self._read(cell, Shape.POINT, "."), ""
        if sign is Sign.COMMA and self._has_grouping_points:
            return self._read(cell, Shape.COMMA_AND_GROUPS, ","), ""
        return None, TWO_WAYS

    def _read(self, cell: str, shape: Shape, sign: str) -> float | None:
        text = _bare(cell)
        plain = text.replace(".", "").replace(",", ".") if sign == "," else text.replace(",", "")
        number = parse_number(plain)
        kind = Shape.COMMA if sign == "," else shape
        if number is not None and kind in (Shape.COMMA, Shape.POINT_AND_GROUPS) and kind not in self._examples:
            self._examples[kind] = f"{text[:40]} is {number:.15g}"
        return number


def has_decimal_commas(file: BinaryIO) -> bool:
    """Return whether a log has values with a decimal comma, such as `Mean: 0,693`, and values like `Mean: 1,250`.

    The latter can be read in two ways then. The file is at its beginning again afterwards.
    """
    has_comma = has_groups = False
    rest = b""
    while not (has_comma and has_groups) and (piece := file.read(PIECE)):
        has_comma = has_comma or LABELLED_COMMA.search(rest + piece) is not None
        has_groups = has_groups or LABELLED_GROUPS.search(rest + piece) is not None
        rest = piece[-MAX_NUMERAL_LENGTH:]
    file.seek(0)
    return has_comma and has_groups


def is_numeral(text: str) -> bool:
    """Return whether a text is a number with signs of any kind, such as 0,693."""
    return shape_of(text) is not None


def is_ambiguous(text: str) -> bool:
    """Return whether a comma in a text is a decimal sign, or groups thousands."""
    return shape_of(text) is Shape.COMMA_OR_GROUPS


def shape_of(text: str) -> Shape | None:
    """Return how the signs of a numeral can be read; None if the text is no numeral with digits, points and commas."""
    match = NUMERAL.fullmatch(_bare(text)) if len(text) <= MAX_NUMERAL_LENGTH else None
    if match is None or not match[1].strip(".,"):
        return None
    digits, has_exponent = match[1], match[2] is not None
    points, commas = digits.count("."), digits.count(",")
    if points and commas:
        is_comma = digits.rindex(",") > digits.rindex(".")
        head = digits.rpartition("," if is_comma else ".")[0]
        if not (POINT_GROUPS if is_comma else COMMA_GROUPS).fullmatch(head):
            return None
        return Shape.COMMA_AND_GROUPS if is_comma else Shape.POINT_AND_GROUPS
    if not points and not commas:
        return Shape.PLAIN
    groups = COMMA_GROUPS if commas else POINT_GROUPS
    is_grouped = not has_exponent and groups.fullmatch(digits) is not None
    if points + commas > 1:
        return (Shape.POINT_AND_GROUPS if commas else Shape.COMMA_AND_GROUPS) if is_grouped else None
    if is_grouped:
        return Shape.COMMA_OR_GROUPS if commas else Shape.POINT_OR_GROUPS
    return Shape.COMMA if commas else Shape.POINT


def _parse_plain(text: str) -> float | None:
    """Parse a number whose point, if it has one, is a decimal sign."""
    number = parse_number(text)
    return parse_number(_bare(text)) if number is None and (not text.isascii() or "'" in text) else number


def _bare(text: str) -> str:
    """Return the text without spaces and quotes around it, and without the spaces that group its digits."""
    text = text.strip().strip("'\"").strip()
    if text.startswith(MINUS):
        text = f"-{text[1:]}"
    return SPACE_IN_GROUPS.sub("", text) if not text.isascii() or "'" in text else text
