"""Divide a judge's reply into its JSON objects and the text around them, without the drafts of reasoning models.

A draft is what stands in `<think>…</think>` or in tags of that kind, what stands before a closing tag (templates add
the opening tag to the question), and all that follows an opening tag without a closing one. A tag inside a string of a
JSON object, or in quotes or backticks, is text about such a tag.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from workers.outgoing.json_text import Document, prepare
from workers.outgoing.lenient_json import UnreadableJson, read_object

NAMES = r"think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad|seed:think"
UNQUOTED = r"""(?<![`"'“])"""
OPENING = rf"""{UNQUOTED}(?:<(?:{NAMES})>|\[THINK\]|◁think▷|<\|channel\|?>(?:analysis|thought|commentary)\b)"""
CLOSING = rf"""{UNQUOTED}(?:</(?:{NAMES})>|\[/THINK\]|◁/think▷|<\|channel\|>final<\|message\|>|<channel\|>)"""
CLOSING_TAG = re.compile(CLOSING, re.IGNORECASE)
TAG = re.compile(rf"(?P<opening>{OPENING})|(?P<closing>{CLOSING})", re.IGNORECASE)
MARK = re.compile(rf"(?P<opening>{OPENING})|(?P<closing>{CLOSING})|\{{", re.IGNORECASE)


@dataclass(frozen=True)
class Fragment:
    """The beginning of a JSON object: its keys, and whether the reply ends within it."""

    keys: tuple[str, ...]
    is_cut: bool


@dataclass
class ReplyParts:
    """A reply without its drafts.

    objects: the JSON objects, in their order; fragments: what begins like one and is none; text: the text around them,
    with backslashes doubled. is_draft: the reply ends within a draft.
    """

    objects: list[dict[str, Any]] = field(default_factory=list)
    fragments: list[Fragment] = field(default_factory=list)
    passages: list[str] = field(default_factory=list)
    is_draft: bool = False

    @property
    def text(self) -> str:
        return "".join(self.passages)


def split_reply(reply: str, max_characters: int) -> ReplyParts:
    """Return the parts of a reply; if it is very long, those of its last `max_characters`."""
    begins_in_draft = _is_open(reply[:-max_characters])
    text = prepare(reply[-max_characters:])
    parts, at = ReplyParts(), 0
    if begins_in_draft:
        at = _skip_draft(text, 0, parts)
    while mark := MARK.search(text, at):
        parts.passages.append(text[at : mark.start()])
        if mark["closing"]:
            parts, at = ReplyParts(), mark.end()
        elif mark["opening"]:
            at = _skip_draft(text, mark.end(), parts)
        else:
            at = _read_object(text, mark.start(), parts)
    parts.passages.append(text[at:])
    return parts


def _is_open(text: str) -> bool:
    """Return whether the text ends within a draft."""
    tags = [tag["opening"] is not None for tag in TAG.finditer(text)]
    return bool(tags) and tags[-1]


def _skip_draft(text: str, at: int, parts: ReplyParts) -> int:
    """Return the position after the draft that goes on here."""
    parts.passages.append("\n")
    closing = CLOSING_TAG.search(text, at)
    parts.is_draft = closing is None
    return len(text) if closing is None else closing.end()


def _read_object(text: Document, at: int, parts: ReplyParts) -> int:
    """Add the object that begins here, if it is one, to the parts. Return the position after it."""
    try:
        value, end = read_object(text, at)
    except UnreadableJson as error:
        # What follows is read again as text from where the object breaks off, and only once.
        end = max(error.end, at + 1)
        if not error.keys:
            parts.passages.append(text[at:end])
            return end
        parts.fragments.append(Fragment(tuple(error.keys), error.is_cut))
    else:
        parts.objects.append(value)
    parts.passages.append("\n")
    return end
