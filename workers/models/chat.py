"""Messages -> the text that a model is asked to continue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def chat_text(tokenizer: Any, messages: Sequence[dict[str, str]]) -> str:
    """The chat template with its generation prompt; a base model without a template gets the bare contents.

    The special tokens stand in the text: tokenise it with `add_special_tokens=False`.
    """
    if tokenizer.chat_template is None:
        return "\n\n".join(m["content"] for m in messages)
    return str(tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True))
