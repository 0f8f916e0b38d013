"""Charts that users define themselves, by their keys. A chart's name is also its text form in addresses.

Its grammar is `own:KEY,KEY~AGAINST=TITLE`, where all but the first key are optional. The characters `% : , ~ =` are
percent-encoded in keys and titles, so that any text but NUL can be part of a name.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from django.utils.translation import gettext, ngettext

PREFIX = "own"
MAX_KEYS = 4
MAX_KEY_LENGTH = 200
MAX_TITLE_LENGTH = 200
ESCAPES = str.maketrans({character: f"%{ord(character):02X}" for character in "%:,~="})


class InvalidChart(ValueError):
    """A text that describes no chart. The message is a sentence for the user."""


@dataclass(frozen=True)
class OwnChart:
    """A chart of one to MAX_KEYS keys along the page's x axis, or against the values of another key."""

    keys: tuple[str, ...]
    against: str = ""
    title: str = ""

    @property
    def name(self) -> str:
        """Return the text form; `parse_own` reads it."""
        against = f"~{escape(self.against)}" if self.against else ""
        title = f"={escape(self.title)}" if self.title else ""
        return f"{PREFIX}:{','.join(map(escape, self.keys))}{against}{title}"

    @property
    def heading(self) -> str:
        """Return the title, or a title made of the keys, in the reader's language."""
        keys = ", ".join(self.keys)
        if self.title or not self.against:
            return self.title or keys
        return gettext("%(keys)s against %(key)s") % {"keys": keys, "key": self.against}

    @property
    def all_keys(self) -> tuple[str, ...]:
        """Return every key whose series the chart needs, each once."""
        return tuple(dict.fromkeys((*self.keys, *filter(None, [self.against]))))


def escape(text: str) -> str:
    """Percent-encode the characters that separate the parts of a text form."""
    return text.translate(ESCAPES)


def parse_own(name: str) -> OwnChart | None:
    """Return the chart of this name, or None if the name describes none."""
    try:
        return read_own(name)
    except InvalidChart:
        return None


def read_own(name: str) -> OwnChart:
    """Return the chart of this name. Raise InvalidChart."""
    prefix, colon, body = name.partition(":")
    if prefix != PREFIX or not colon or ":" in body:
        message = gettext("%(name)r is not a chart of your own; write own:key, own:key,key or own:key~key.")
        raise InvalidChart(message % {"name": name[:100]})
    body, _, title = body.partition("=")
    keys, tilde, against = body.partition("~")
    if tilde and not against:
        raise InvalidChart(gettext("A key must follow ~."))
    return make_own([unquote(key) for key in keys.split(",")], unquote(against), unquote(title))


def make_own(keys: list[str], against: str = "", title: str = "") -> OwnChart:
    """Return the chart of these keys, each once. Raise InvalidChart if there are too few or too many, or a text is too
    long or empty."""
    named = tuple(dict.fromkeys(keys))
    if not named or len(named) > MAX_KEYS:
        message = ngettext("A chart must have 1 to %(n)s key.", "A chart must have 1 to %(n)s keys.", MAX_KEYS)
        raise InvalidChart(message % {"n": MAX_KEYS})
    for key in (*named, *filter(None, [against])):
        if not 1 <= len(key) <= MAX_KEY_LENGTH:
            message = gettext("A key must have 1 to %(n)s characters, not %(count)s.")
            raise InvalidChart(message % {"n": MAX_KEY_LENGTH, "count": len(key)})
    if len(title) > MAX_TITLE_LENGTH:
        message = gettext("A title may have at most %(n)s characters, not %(count)s.")
        raise InvalidChart(message % {"n": MAX_TITLE_LENGTH, "count": len(title)})
    if any("\x00" in text for text in (*named, against, title)):
        raise InvalidChart(gettext("Keys and titles must not contain the character NUL."))
    return OwnChart(named, against, title)
