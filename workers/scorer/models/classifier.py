"""Any sequence-classification checkpoint: a reward model with one output, or a classifier and one of its labels.

With several labels the score is the log-odds of the one that is named: above 0 where it is likelier than all others
together, so that a label such as "toxic" is a cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from workers.scorer.conversation import messages
from workers.scorer.models.base import BadModel, ModelOptions, ScoreBatch
from workers.scorer.models.device import device_and_dtype
from workers.scorer.models.tokens import limit_length, tokens


class Classifier:
    """A sequence-classification checkpoint. If its tokenizer has a chat template, conversations are formatted by it."""

    def __init__(self, folder: Path, options: ModelOptions) -> None:
        device, dtype = device_and_dtype(options)
        self.name, self.device = options.name, str(device)
        self._model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=dtype, use_safetensors=True)
        self._model.to(device).eval().requires_grad_(False)
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        self._label = _label(self._model.config, options)
        self._max_length = limit_length(options.max_length, self._model.config)
        self._pads = self._tokenizer.pad_token_id not in (None, self._tokenizer.eos_token_id)
        # Decoders find a text's last token by this: the end of sequence must not look like padding.
        self._model.config.pad_token_id = self._tokenizer.pad_token_id if self._pads else None

    @torch.inference_mode()
    def scores(self, texts: Sequence[str]) -> ScoreBatch:
        """See ScoreModel. Without a token for padding, texts are scored one by one."""
        parts = [list(texts)] if self._pads else [[text] for text in texts]
        scored = [self._score_part(part) for part in parts]
        return ScoreBatch([value for part in scored for value in part.values], sum(part.truncated for part in scored))

    def _score_part(self, texts: list[str]) -> ScoreBatch:
        has_template = bool(self._tokenizer.chat_template)
        formatted = [self._format(text) for text in texts]
        batch = tokens(self._tokenizer, formatted, self._max_length, add_special_tokens=not has_template)
        logits = self._model(input_ids=batch.ids.to(self.device), attention_mask=batch.mask.to(self.device)).logits
        return ScoreBatch(_scores(logits.float(), self._label).tolist(), batch.truncated)

    def _format(self, text: str) -> str:
        if self._tokenizer.chat_template:
            return str(self._tokenizer.apply_chat_template(messages(text), tokenize=False))
        end = self._tokenizer.eos_token or ""
        return text if text.endswith(end) else text + end


def _scores(logits: torch.Tensor, label: int) -> torch.Tensor:
    """Return [n, labels] -> [n]."""
    if logits.shape[1] == 1:
        return logits[:, 0]
    others = torch.cat([logits[:, :label], logits[:, label + 1 :]], 1)
    return logits[:, label] - others.logsumexp(1)


def _label(config: Any, options: ModelOptions) -> int:
    """Return the label's column. Raise BadModel if a label must be named, or there is none of that name."""
    labels = {str(name): int(n) for n, name in config.id2label.items()}
    if len(labels) == 1:
        return 0
    if options.label not in labels:
        problem = f"has no label {options.label!r}" if options.label else "has several labels"
        choices = ", ".join(labels)
        raise BadModel(
            f"the {options.role} model {options.name} {problem}: give --{options.role}-label one of {choices}"
        )
    return labels[options.label]
