"""The conversation that score models are trained on, in the words of Safe-RLHF (PKU-Alignment/safe-rlhf)."""

from __future__ import annotations

import re

BEGINNING, USER, ASSISTANT = "BEGINNING OF CONVERSATION:", "USER:", "ASSISTANT:"
ROLE_MARKER = re.compile(r"(USER:|ASSISTANT:)")


def conversation(prompt: str, response: str) -> str:
    """Join prompt and answer into one text. A prompt that is a conversation already is used unchanged."""
    if BEGINNING in prompt and ASSISTANT in prompt:
        return prompt + response
    return f"{BEGINNING} {USER} {prompt} {ASSISTANT}{response}"


def split_turns(text: str) -> tuple[str, str]:
    """Split into (the first question, everything from the first answer on). A text without roles answers nothing.

    An answer that continues with turns of its own making is judged as a whole.
    """
    before, marker, answer = text.partition(ASSISTANT)
    return (before.rpartition(USER)[2].strip(), answer.strip()) if marker else ("", text.strip())


def messages(text: str) -> list[dict[str, str]]:
    """Return the turns for a chat template, {"role", "content"} each, none lost. Text before any role is the user's."""
    first, *rest = ROLE_MARKER.split(text.removeprefix(BEGINNING))
    turns = [("user", first)] if first.strip() else []
    turns += [
        ("user" if marker == USER else "assistant", turn_text)
        for marker, turn_text in zip(rest[::2], rest[1::2], strict=True)
    ]
    return [{"role": role, "content": content.strip()} for role, content in turns]
