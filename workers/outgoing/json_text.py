"""Text in which JSON is read leniently: backslashes that a model meant as text are escaped."""

from __future__ import annotations

import re
from typing import Any

LATEX = (
    r"n(?:abla|eq|eg|u|ot|otin|earrow|mid|leq|geq|subseteq)(?![A-Za-z])",
    r"t(?:imes|heta|ext[a-z]{0,6}|au|anh?|o|op|riangle[a-z]{0,5}|frac|ilde|herefore)(?![A-Za-z])",
    r"r(?:ho|ight[a-z]{0,10}|angle|floor|ceil|m|ef|oot)(?![A-Za-z])",
    r"[bf][A-Za-z]",
)
"""Letters that follow a backslash in LaTeX and would be a control character in JSON."""
ESCAPE = re.compile(rf"""\\(?:(?P<json>(?!{"|".join(LATEX)})(?:["\\/bfnrt]|u[0-9a-fA-F]{{4}}))|(?P<quote>')|)""")


class Document(str):
    """Text in which objects are read at many positions.

    Errors of `json` count the lines before their position, which takes quadratic time for many errors: here are none.
    """

    __slots__ = ()

    def count(self, *_: Any) -> int:
        return 0

    def rfind(self, *_: Any) -> int:
        return -1


def prepare(text: str) -> Document:
    """Return the text for `read_object`.

    Backslashes are doubled that JSON does not know, or would read as control characters where LaTeX is meant, such as
    in `\\frac` and `\\times`.
    """
    return Document(ESCAPE.sub(_escape, text))


def _escape(match: re.Match[str]) -> str:
    return match[0] if match["json"] else "'" if match["quote"] else "\\\\"
