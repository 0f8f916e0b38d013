"""TRL's GRPOTrainer, with the prompt format of this project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import trl

from workers.models import PromptFormat


class Trainer(trl.GRPOTrainer):  # type: ignore[misc]
    """TRL's trainer, with prompts given as text and made into tokens by the format that evaluation uses too.

    TRL's own step adds a second BOS to text that a template wrote, ends an assistant's turn that is to go on, and
    fails for messages where the tokenizer has no template.
    """

    def __init__(self, prompts: PromptFormat, **arguments: Any) -> None:
        self._prompts = prompts
        super().__init__(**arguments)

    def _tokenize_prompts(self, prompts: Sequence[str]) -> tuple[list[list[int]], None, dict[str, Any]]:
        """Return the prompts' token ids; no images and no other fields."""
        return [self._prompts.encode(prompt) for prompt in prompts], None, {}
