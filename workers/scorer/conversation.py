"""The conversation that score models are trained on, in the words of Safe-RLHF (PKU-Alignment/safe-rlhf)."""

from __future__ import annotations

import re

BEGINNING, USER, ASSISTANT = "BEGINNING OF CONVERSATION:", "USER:", "ASSISTANT:"
SPOKEN = re.compile(r"(USER:|ASSISTANT:)")


def conversation(prompt: str, response: str) -> str:
    """Prompt and answer as one text. A prompt that is a conversation already is used as it stands."""
    if BEGINNING in prompt and ASSISTANT in prompt:
        return prompt + response
    return f"{BEGINNING} {USER} {prompt} {ASSISTANT}{response}"


def parted(text: str) -> tuple[str, str]:
    """(the first question, everything from the first answer on). A text without roles is an answer to nothing.

    An answer that goes on with turns of its own making is answered for as a whole.
    """
    before, found, answer = text.partition(ASSISTANT)
    return (before.rpartition(USER)[2].strip(), answer.strip()) if found else ("", text.strip())


def messages(text: str) -> list[dict[str, str]]:
    """The turns, for a chat template: {"role", "content"} each, none lost. What comes before any role is the user's."""
    first, *rest = SPOKEN.split(text.removeprefix(BEGINNING))
    said = [("user", first)] if first.strip() else []
    said += [("user" if who == USER else "assistant", what) for who, what in zip(rest[::2], rest[1::2], strict=True)]
    return [{"role": role, "content": content.strip()} for role, content in said]
