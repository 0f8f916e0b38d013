"""Format log records so that nobody outside writes into the log, and no link that opens something is in it.

Paths, names and headers are the clients': a line break in one would begin a line of their own. A path with the text of
a link is the key to what the link opens. Both are the formatter's business, because every record passes it.
"""

from __future__ import annotations

import logging
import re
from types import TracebackType

UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line breaks, and what changes the direction of a line."""
UNPRINTABLE_IN_TRACEBACK = re.compile(UNPRINTABLE.pattern.replace(r"\x00-\x1f", r"\x00-\x09\x0b-\x1f"))
SECRETS = re.compile(
    r"(?P<before>/(?:shared|sign-in|vote/link|invitation/[^/\s]++)/|\b(?:esw_|bearer |sessionid=|csrftoken=))"
    r"[^/\s\"'?&;,]++",
    re.IGNORECASE,
)
"""What opens something: the text of a link in a path, a token, and a cookie."""
HIDDEN = r"\g<before>…"
INDENT = "    "
Trace = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class LineFormatter(logging.Formatter):
    """A formatter whose records are one line each, and the lines of a traceback are indented."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the line, without the traceback."""
        return escape_line(super().formatMessage(record))

    def formatException(self, ei: Trace) -> str:
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        return _indented(super().formatStack(stack_info))


def escape_line(text: str) -> str:
    """Return the text as one line, with escapes such as \\n in place of control characters, and without secrets."""
    return UNPRINTABLE.sub(_escaped, SECRETS.sub(HIDDEN, text))


def _indented(text: str) -> str:
    """Return the lines of a traceback, which quote the clients' data, such that none looks like a record."""
    text = UNPRINTABLE_IN_TRACEBACK.sub(_escaped, SECRETS.sub(HIDDEN, text))
    return "\n".join(f"{INDENT}{line}" for line in text.split("\n"))


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")
