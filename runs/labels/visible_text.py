"""Show what a text hides: characters without a glyph, and long runs of white space. The result is text, never HTML."""

from __future__ import annotations

import re

from django.utils.translation import gettext

HIDDEN = re.compile(
    "([\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff])\\1*"
)
"""Matches a run of one character that shows nothing or changes the direction of others. Joiners and variation selectors
are not among them: scripts and emoji need those."""
LONG_BLANK = re.compile(r"[ \t\n]{8,}")


def visible_text(text: str) -> str:
    """Return the text with hidden characters as their code points, such as ⟨U+200B⟩, and with eight or more blanks in
    a row counted."""
    return LONG_BLANK.sub(_count_blanks, HIDDEN.sub(_code_points, text)).replace("\t", "⇥\t")


def _code_points(run: re.Match[str]) -> str:
    name, n = f"U+{ord(run[1]):04X}", len(run[0])
    return f"⟨{name}⟩" if n == 1 else f"⟨{name} ×{n}⟩"


def _count_blanks(run: re.Match[str]) -> str:
    # The same words as beside the responses of a flag.
    return " " + gettext("⟨white space: %(n)s characters⟩") % {"n": len(run[0])} + " "
