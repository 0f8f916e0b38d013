"""Compare a decoder's logits with those of transformers, before a run trusts it.

    small = truncate(model)
    difference = check_logits(Decoder(small, tokenizer).last_logits, small)
    check_once("decoder", model, lambda small: Decoder(small, tokenizer).last_logits)

Any decoder can be checked: it is a function from token lists to the logits after each. The reference is the class of
transformers, with the same config and the same tensors, in float32; a decoder in another precision may be a few times
as far from it as transformers in that precision. All run only the first layers, one of each kind at least, with
windows shortened to less than the prompts: a large model takes seconds, no weights of a float32 model are copied on a
CPU, and few layers leave little rounding to allow for. What differs by less than a precision's rounding passes: in
bfloat16 a soft cap that bends nothing, or another epsilon. Float32 shows these, and the tests compare in it.

Importing the classes of transformers takes 2 to 3 s of a core. The arithmetic depends on the config, the precision, the
device and the code, and not on the weights' values, so `check_once` records what it measured in the cache folder and
compares again only after one of these has changed.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import torch
import transformers
from torch import Tensor

from workers import code
from workers.config.cache import cache_folder
from workers.models.decoder import shape_of
from workers.models.native import NativeModel, build_native

LastLogits: TypeAlias = Callable[[Sequence[Sequence[int]]], Tensor]
"""Token lists -> the logits [lists, vocabulary] after the last token of each."""

TOLERANCES = {torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 8e-2}
"""Difference that is always allowed, relative to the spread of the reference's logits.

Rounding alone was at most 3e-6, 5e-3 and 3e-2 in small random models of every architecture. Any feature that one of
them lacked (a window of one token more, SiLU for GELU, a missing norm) was at least 1e-1.
"""
TIMES_THE_ROUNDING = 3.0
"""A decoder in another precision than float32 may differ so many times as much as transformers in that precision."""
WINDOW = 8
LENGTHS = (9, 9, 17, 40)
"""Lengths of the prompts, in tokens: equal and different ones, and one longer than the window."""
SHARED = 6
"""Tokens that all of them begin with."""


class LogitsDiffer(ValueError):
    """A decoder's logits differ from those of transformers by more than rounding."""


@dataclass(frozen=True)
class Difference:
    """Distance of logits from a reference: the largest difference of two logits, and the root mean square of all
    differences relative to that of the reference's logits around their mean, of the worst prompt."""

    largest: float
    relative: float


def check_once(name: str, model: Any, make: Callable[[Any], LastLogits]) -> Difference:
    """Check the decoder that `make` returns for a truncated model, unless the cache folder has the result.

    `name` tells decoders apart. Raise LogitsDiffer, which is not recorded.
    """
    file = cache_folder() / "logits-checks" / f"{_key(name, model)}.json"
    if file.is_file():
        return Difference(**json.loads(file.read_text(encoding="utf-8")))
    small = truncate(model)
    difference = check_logits(make(small), small)
    _write(file, json.dumps(asdict(difference)))
    return difference


def check_logits(last_logits: LastLogits, model: Any) -> Difference:
    """Compare a decoder of `model` with transformers, on one small batch. Raise LogitsDiffer if they do not agree."""
    prompts, dtype = sample_prompts(model.config.vocab_size), model.lm_head.weight.dtype
    with torch.inference_mode():
        expected, allowed = _reference_logits(model, prompts, torch.float32), TOLERANCES[dtype]
        if dtype != torch.float32:
            rounding = compare(_reference_logits(model, prompts, dtype), expected)
            allowed = max(allowed, TIMES_THE_ROUNDING * rounding.relative)
        difference = compare(last_logits(prompts), expected)
    # Written so that a NaN does not pass.
    if not difference.relative <= allowed:
        raise LogitsDiffer(
            f"the logits of the decoder differ from those of transformers by up to {difference.largest:.3g}, "
            f"{difference.relative:.2g} of their spread; rounding in {str(dtype).removeprefix('torch.')} "
            f"explains {allowed:.2g} at most"
        )
    return difference


def compare(logits: Tensor, expected: Tensor) -> Difference:
    """Return how far logits [rows, vocabulary] are from the expected ones. Raise ValueError for another shape."""
    if logits.shape != expected.shape:
        raise ValueError(f"logits have the shape {tuple(logits.shape)}, not {tuple(expected.shape)}")
    apart, centred = (logits.to(expected.device) - expected).double(), expected.double()
    centred = centred - centred.mean(dim=-1, keepdim=True)
    return Difference(float(apart.abs().max()), float((apart.norm(dim=-1) / centred.norm(dim=-1)).max()))


def sample_prompts(vocabulary: int) -> list[list[int]]:
    """Return token lists from all over the vocabulary, the same in every process."""
    return [
        [(7919 * position + (13 * row if position > SHARED else 0)) % vocabulary for position in range(1, length + 1)]
        for row, length in enumerate(LENGTHS)
    ]


def truncate(model: Any) -> NativeModel:
    """Return the first layers of a model, one of each kind at least and two together; their tensors are shared.

    Raises UnknownShape if the decoder does not know its architecture.
    """
    shape = shape_of(model)
    kinds = [(layer.window, layer.rotary) for layer in shape.layers]
    count = max(2, 1 + max(kinds.index(kind) for kind in kinds))
    names = {name for layer in shape.layers[count:] for over in layer.maps for name in (*over.weights, *over.biases)}
    names |= {name for layer in shape.layers[count:] for name in layer.norms}
    config = copy.deepcopy(model.config)
    config.num_hidden_layers = min(count, len(shape.layers))
    config.tie_word_embeddings = model.lm_head.weight is model.model.embed_tokens.weight
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[:count]
    if getattr(config, "sliding_window", None) is not None:
        config.sliding_window = min(config.sliding_window, WINDOW)
    tensors = {name: parameter.detach() for name, parameter in model.named_parameters() if name not in names}
    small = build_native(config, model.generation_config, tensors)
    if small is None:
        raise LogitsDiffer("the model's tensors are not those that its config describes")
    return small.to(model.device).eval().requires_grad_(False)


def _reference_logits(model: Any, prompts: Sequence[Sequence[int]], dtype: torch.dtype) -> Tensor:
    """Return the logits [prompts, vocabulary] of transformers, computed in this precision."""
    reference = make_reference(model, dtype)
    return torch.stack([reference(input_ids=_row(p, model), use_cache=False).logits[0, -1] for p in prompts])


def make_reference(model: Any, dtype: torch.dtype) -> Any:
    """Return the class of transformers for this model's config, with its tensors; on a CPU they are shared if they can.

    Its attention is the eager one, since other implementations leave out soft caps.
    """
    # Imported here, because it takes 2 to 3 s of a core, and most runs of small models do without.
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING

    tensors = {name: parameter.detach().cpu() for name, parameter in model.named_parameters()}
    config = copy.deepcopy(model.config)
    kind: Any = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
    reference = kind.from_pretrained(None, config=config, state_dict=tensors, dtype=dtype, attn_implementation="eager")
    return reference.to(model.lm_head.weight.device).eval().requires_grad_(False)


def _key(name: str, model: Any) -> str:
    """Return a hash over everything that decides the arithmetic."""
    weight = model.lm_head.weight
    device = torch.cuda.get_device_name(weight.device) if weight.is_cuda else "cpu"
    config = {key: value for key, value in model.config.to_dict().items() if key != "_name_or_path"}
    decisive = (name, str(weight.dtype), device, config, _versions())
    return hashlib.sha256(json.dumps(decisive, sort_keys=True, default=str).encode()).hexdigest()[:24]


@cache
def _versions() -> tuple[str, str, str]:
    """Return the versions of what computes, as this process has imported it."""
    return torch.__version__, transformers.__version__, code.fingerprint()


def _write(file: Path, text: str) -> None:
    """Write a file whole, safe against other processes that write it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(f".{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    part.replace(file)


def _row(tokens: Sequence[int], model: Any) -> Tensor:
    return torch.tensor([tokens], device=model.lm_head.weight.device)
