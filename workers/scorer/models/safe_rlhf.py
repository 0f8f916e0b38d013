"""Score models of Safe-RLHF (PKU-Alignment/safe-rlhf, safe_rlhf/models/score_model): a LLaMA decoder and a score head.

Beaver's reward, cost and unified models are of this kind. The score is read at the last token, which is the end of
sequence: it is appended if the text has none, and a long text loses its beginning instead of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import nn
from transformers import AutoConfig, AutoTokenizer, LlamaModel, LlamaPreTrainedModel

from workers.scorer.models.base import BadModel, ModelOptions, ScoreBatch
from workers.scorer.models.device import device_and_dtype
from workers.scorer.models.tokens import limit_length, tokens

NORMALIZATIONS = {"reward": "affine", "cost": "scale"}
"""Safe-RLHF's use of running mean and variance, by score_type, if a config sets do_normalize."""


class Normalizer(nn.Module):
    """The running statistics that a checkpoint may hold, under Safe-RLHF's names."""

    mean: torch.Tensor
    var: torch.Tensor

    def __init__(self, score_dim: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(score_dim))
        self.register_buffer("var", torch.ones(score_dim))
        self.register_buffer("count", torch.ones(1, dtype=torch.long))


class LlamaForScore(LlamaPreTrainedModel):  # type: ignore[misc]
    """The published layout: model.*, score_head.{weight, bias}, normalizer.{mean, var, count}."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.model = LlamaModel(config)
        score_dim = getattr(config, "score_dim", 1)
        self.score_head = nn.Linear(config.hidden_size, score_dim, bias=config.score_bias)
        self.normalizer = Normalizer(score_dim)
        self.post_init()

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Score [n, longest] tokens, padded on the right -> [n, score_dim], read at each row's last token."""
        hidden = self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False).last_hidden_state
        ends = attention_mask.sum(1) - 1
        scores: torch.Tensor = self.score_head(hidden[torch.arange(len(ends), device=ends.device), ends]).float()
        return self._normalised(scores) if getattr(self.config, "do_normalize", False) else scores

    def _normalised(self, scores: torch.Tensor) -> torch.Tensor:
        method = NORMALIZATIONS.get(getattr(self.config, "score_type", "reward"))
        mean, deviation = self.normalizer.mean.float(), self.normalizer.var.float().sqrt()
        return (scores - mean) / deviation if method == "affine" else scores / deviation if method else scores


class SafeRlhf:
    """A checkpoint of Safe-RLHF."""

    def __init__(self, folder: Path, options: ModelOptions) -> None:
        device, dtype = device_and_dtype(options)
        self.name, self.device = options.name, str(device)
        self._model = _load_model(folder, options, dtype).to(device)
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        self._end = self._tokenizer.eos_token or "</s>"
        self._max_length = limit_length(options.max_length, self._model.config)

    @torch.inference_mode()
    def scores(self, texts: Sequence[str]) -> ScoreBatch:
        """See ScoreModel."""
        terminated = [text if text.endswith(self._end) else text + self._end for text in texts]
        batch = tokens(self._tokenizer, terminated, self._max_length)
        scores = self._model(batch.ids.to(self.device), batch.mask.to(self.device))
        return ScoreBatch(scores[:, 0].tolist(), batch.truncated)


def _load_model(folder: Path, options: ModelOptions, dtype: torch.dtype) -> Any:
    """Load the model. Raise BadModel if weights are missing: transformers would fill them in by chance."""
    config = AutoConfig.from_pretrained(folder)
    # Configs of different ages have bias, score_bias or neither, so the weights decide.
    config.score_bias = _has_bias(folder)
    model, loading_info = LlamaForScore.from_pretrained(
        folder, config=config, dtype=dtype, use_safetensors=True, output_loading_info=True
    )
    needed = sorted(name for name in loading_info["missing_keys"] if not name.startswith("normalizer."))
    normalises = getattr(model.config, "do_normalize", False)
    missing = sorted(loading_info["missing_keys"]) if normalises else needed
    if missing or model.config.model_type != "llama":
        reason = f"it has no {', '.join(missing[:3])}" if missing else f"it is a {model.config.model_type}, not a llama"
        raise BadModel(f"the {options.role} model {options.name} is not a score model of Safe-RLHF: {reason}")
    if model.score_head.out_features != 1:
        raise BadModel(f"the {options.role} model {options.name} returns {model.score_head.out_features} scores, not 1")
    return model.eval().requires_grad_(False)


def _has_bias(folder: Path) -> bool:
    return any("score_head.bias" in _names(file) for file in folder.glob("*.safetensors"))


def _names(file: Path) -> list[str]:
    with safe_open(file, "pt") as weights:
        return list(weights.keys())
