"""Render a log like a terminal: escape sequences as styles, and of an overwritten line only the remaining text."""

from __future__ import annotations

import re
from dataclasses import dataclass

# CSI sequences (colours, cursor), OSC sequences (titles, links), and the two-letter ones: ECMA-48, §5.4.
ESCAPE = re.compile(r"\x1b(?:\[([0-?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
WEIGHTS = {1: "bold", 2: "dim", 3: "italic", 4: "underline"}
RESETS = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",)}


@dataclass(frozen=True)
class Span:
    """Text in one style; `style` holds names of classes, such as `ansi-red ansi-bold`."""

    text: str
    style: str = ""


class Terminal:
    """A terminal that renders a log line by line. A style continues until it is reset, also over lines.

    Of the 256 and the true colours only the first sixteen are shown, and no backgrounds: any other would have to be
    readable in both themes.
    """

    def __init__(self) -> None:
        self._colour = ""
        self._weights: set[str] = set()

    def line(self, text: str) -> list[Span]:
        """Return the spans of one line, without empty ones. A carriage return overwrites all text before it."""
        spans: list[Span] = []
        position, end = 0, len(text.rstrip("\r"))
        for match in ESCAPE.finditer(text, 0, end):
            self._write(spans, text[position : match.start()])
            if match[2] == "m":
                self._select(match[1])
            position = match.end()
        self._write(spans, text[position:end])
        return spans

    def _write(self, spans: list[Span], text: str) -> None:
        _, overwrites, after = text.rpartition("\r")
        if overwrites:
            spans.clear()
        if printable := UNPRINTABLE.sub("", after):
            spans.append(Span(printable, self._style()))

    def _style(self) -> str:
        return " ".join(f"ansi-{name}" for name in (self._colour, *sorted(self._weights)) if name)

    def _select(self, parameters: str) -> None:
        """Select graphic rendition (ECMA-48, §8.3.117)."""
        codes = [int(code) if code.isdigit() else 0 for code in parameters[:200].split(";")]
        while codes:
            code = codes.pop(0)
            if code in (38, 48):
                colour = _take_extended_colour(codes)
                self._colour = colour if code == 38 else self._colour
            else:
                self._apply(code)

    def _apply(self, code: int) -> None:
        if code == 0:
            self._colour, self._weights = "", set()
        elif code in WEIGHTS:
            self._weights.add(WEIGHTS[code])
        elif code in RESETS:
            self._weights.difference_update(RESETS[code])
        elif 30 <= code <= 37 or 90 <= code <= 97:
            self._colour = COLOURS[code % 10]
        elif code == 39:
            self._colour = ""


def _take_extended_colour(codes: list[int]) -> str:
    """Remove the parameters of 38 or 48, and return the colour if it is one of the sixteen."""
    kind = codes.pop(0) if codes else 0
    parameters = [codes.pop(0) for _ in range(min(len(codes), {5: 1, 2: 3}.get(kind, 0)))]
    return COLOURS[parameters[0] % 8] if kind == 5 and parameters and parameters[0] < 16 else ""
