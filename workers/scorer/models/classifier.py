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
from workers.scorer.models.base import BadModel, Scored, Wanted
from workers.scorer.models.placing import placed
from workers.scorer.models.tokens import most_tokens, tokens


class Classifier:
    """One such checkpoint. Where its tokenizer has a chat template, that is how it sees conversations."""

    def __init__(self, folder: Path, wanted: Wanted) -> None:
        device, dtype = placed(wanted)
        self.name, self.device = wanted.name, str(device)
        self._model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=dtype, use_safetensors=True)
        self._model.to(device).eval().requires_grad_(False)
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        self._label = _label(self._model.config, wanted)
        self._max_length = most_tokens(wanted.max_length, self._model.config)
        self._pads = self._tokenizer.pad_token_id not in (None, self._tokenizer.eos_token_id)
        # Decoders find a text's last token by this: the end of sequence must not look like padding.
        self._model.config.pad_token_id = self._tokenizer.pad_token_id if self._pads else None

    @torch.inference_mode()
    def scores(self, texts: Sequence[str]) -> Scored:
        """See ScoreModel. Without a token for padding, texts are scored one by one."""
        parts = [list(texts)] if self._pads else [[text] for text in texts]
        scored = [self._part(part) for part in parts]
        return Scored([value for part in scored for value in part.values], sum(part.truncated for part in scored))

    def _part(self, texts: list[str]) -> Scored:
        has_template = bool(self._tokenizer.chat_template)
        seen = [self._seen(text) for text in texts]
        found = tokens(self._tokenizer, seen, self._max_length, add_special_tokens=not has_template)
        logits = self._model(input_ids=found.ids.to(self.device), attention_mask=found.mask.to(self.device)).logits
        return Scored(_scores(logits.float(), self._label).tolist(), found.truncated)

    def _seen(self, text: str) -> str:
        if self._tokenizer.chat_template:
            return str(self._tokenizer.apply_chat_template(messages(text), tokenize=False))
        end = self._tokenizer.eos_token or ""
        return text if text.endswith(end) else text + end


def _scores(logits: torch.Tensor, label: int) -> torch.Tensor:
    """[n, labels] -> [n]."""
    if logits.shape[1] == 1:
        return logits[:, 0]
    others = torch.cat([logits[:, :label], logits[:, label + 1 :]], 1)
    return logits[:, label] - others.logsumexp(1)


def _label(config: Any, wanted: Wanted) -> int:
    """Raises BadModel where a label must be named, or there is none of that name."""
    labels = {str(name): int(n) for n, name in config.id2label.items()}
    if len(labels) == 1:
        return 0
    if wanted.label not in labels:
        asked = f"has no label {wanted.label!r}" if wanted.label else "has several labels"
        choices = ", ".join(labels)
        raise BadModel(f"the {wanted.role} model {wanted.name} {asked}: give --{wanted.role}-label one of {choices}")
    return labels[wanted.label]
