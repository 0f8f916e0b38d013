"""The conversation that score models are trained on, in the words of Safe-RLHF (PKU-Alignment/safe-rlhf)."""

from __future__ import annotations

BEGINNING, USER, ASSISTANT = "BEGINNING OF CONVERSATION:", "USER:", "ASSISTANT:"


def conversation(prompt: str, response: str) -> str:
    """Prompt and answer as one text. A prompt that is a conversation already is used as it stands."""
    if BEGINNING in prompt and ASSISTANT in prompt:
        return prompt + response
    return f"{BEGINNING} {USER} {prompt} {ASSISTANT}{response}"


def last_turn(text: str) -> tuple[str, str]:
    """(the last question, the answer to it). A text without roles is an answer to nothing.

    An answer that goes on with turns of its own making is cut at the last of them, as score models read it too.
    """
    before, _, answer = text.rpartition(ASSISTANT)
    return before.rpartition(USER)[2].strip(), answer.strip()
