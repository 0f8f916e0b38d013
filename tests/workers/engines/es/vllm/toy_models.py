"""A plain torch module that stores its tensors as vLLM does: fused, padded, tied and cut across ranks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from workers.engines.es.noise import make_noise
from workers.engines.es.perturbation import Perturbation
from workers.engines.es.vllm.copy_plan import CopyPlan, check_ranks, owners
from workers.engines.es.vllm.copy_recorder import record_plan
from workers.engines.es.vllm.rank_weights import RankSetup, RankWeights
from workers.engines.es.vllm.tensor_files import open_tensors, weight_files

HIDDEN, VOCABULARY, PADDED, INNER = 8, 10, 16, 12
HEADS, KEY_HEADS, HEAD = 4, 2, 2
SHAPES = {
    "embed.weight": (VOCABULARY, HIDDEN),
    "q.weight": (HEADS * HEAD, HIDDEN), "k.weight": (KEY_HEADS * HEAD, HIDDEN), "v.weight": (KEY_HEADS * HEAD, HIDDEN),
    "q.bias": (HEADS * HEAD,), "k.bias": (KEY_HEADS * HEAD,), "v.bias": (KEY_HEADS * HEAD,),
    "o.weight": (HIDDEN, HEADS * HEAD),
    "gate.weight": (INNER, HIDDEN), "up.weight": (INNER, HIDDEN), "down.weight": (HIDDEN, INNER),
    "mixer.weight": (HIDDEN, 4),
    "norm.weight": (HIDDEN,),
}  # fmt: skip
NAMES = tuple(SHAPES)
TIED = "lm_head.weight"
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
"""On a GPU, fused kernels write what the expected tensors are made of step by step on the CPU."""


class ToyModel(nn.Module):
    """One rank of `ranks`. Key and value heads are replicated if there are fewer of them than ranks."""

    def __init__(self, rank: int = 0, ranks: int = 1, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.rank, self.ranks = rank, ranks
        self.q_rows, self.key_rows = HEADS * HEAD // ranks, max(HEAD, KEY_HEADS * HEAD // ranks)
        rows = self.q_rows + 2 * self.key_rows
        for name, shape in {
            "embed_weight": (PADDED // ranks, HIDDEN), "qkv_weight": (rows, HIDDEN), "qkv_bias": (rows,),
            "o_weight": (HIDDEN, self.q_rows), "gate_up_weight": (2 * INNER // ranks, HIDDEN),
            "down_weight": (HIDDEN, INNER // ranks), "mixer_weight": (4, HIDDEN), "norm_weight": (HIDDEN,),
        }.items():  # fmt: skip
            self.register_parameter(name, nn.Parameter(torch.full(shape, 7.0, dtype=dtype), requires_grad=False))

    def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        """Copy canonical tensors into the parameters."""
        for name, tensor in weights:
            if name != TIED:
                self._load(name, tensor)

    def _load(self, name: str, tensor: Tensor) -> None:
        part, kind = name.split(".")
        if part in ("q", "k", "v"):
            self._load_heads(part, self.get_parameter(f"qkv_{kind}"), tensor)
        elif part in ("gate", "up"):
            size = INNER // self.ranks
            target = self.gate_up_weight.data.narrow(0, size * (part == "up"), size)
            target.copy_(tensor.narrow(0, self.rank * size, size))
        elif part == "embed":
            start = min(self.rank * PADDED // self.ranks, VOCABULARY)
            count = min(PADDED // self.ranks, VOCABULARY - start)
            self.embed_weight[:count].data.copy_(tensor.narrow(0, start, count))
            self.embed_weight[count:].data.fill_(0)
        elif part in ("o", "down"):
            target = self.get_parameter(f"{part}_weight")
            target.data.copy_(tensor.chunk(self.ranks, dim=1)[self.rank].contiguous())
        elif part == "mixer":
            self.mixer_weight.data.copy_(tensor.t())
        else:
            self.get_parameter(f"{part}_{kind}").data.copy_(tensor)

    def _load_heads(self, part: str, parameter: Tensor, tensor: Tensor) -> None:
        if part == "q":
            start, size, first = 0, self.q_rows, self.rank * self.q_rows
        else:
            start, size = self.q_rows + self.key_rows * (part == "v"), self.key_rows
            first = self.rank // max(1, self.ranks // KEY_HEADS) * size
        parameter.data.narrow(0, start, size).copy_(tensor.narrow(0, first, size))


def random_tensors(seed: int = 0) -> dict[str, Tensor]:
    """Return values of the canonical tensors, float32."""
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(shape, generator=generator) for name, shape in SHAPES.items()}


def save_tensors(folder: Path, tensors: Mapping[str, Tensor]) -> Path:
    """Save a model's folder with these weights."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(dict(tensors), folder / "model.safetensors")
    return folder


def perturbation_of(kind: str = "full", sigma: float = 0.1) -> Perturbation:
    scales = {name: 1.0 + 0.25 * i for i, name in enumerate(NAMES)}
    return Perturbation(make_noise(kind, rank=2), sigma, scales)


class Ranks:
    """All ranks of a toy model, loaded from a folder."""

    def __init__(
        self, folder: Path, ranks: int, dtype: torch.dtype, perturbation: Perturbation, *, on_host: bool = False
    ) -> None:
        self.models = [ToyModel(rank, ranks, dtype).to(DEVICE) for rank in range(ranks)]
        with open_tensors(weight_files(folder)) as files:
            self.plans: list[CopyPlan] = [record_plan(m, files.shapes(), NAMES, dtype) for m in self.models]
            check_ranks(self.plans)
            counted = owners(self.plans)
            self.weights = [
                RankWeights(plan, dict(model.named_parameters()), perturbation, RankSetup(dtype, own, True, on_host))
                for plan, model, own in zip(self.plans, self.models, counted, strict=True)
            ]
            for rank in self.weights:
                rank.load_base(files)
                rank.write_centre()

    def equal(self, tensors: Mapping[str, Tensor], dtype: torch.dtype) -> bool:
        """Return whether the parameters are what the toy's own loader makes of these tensors, cast."""
        return all(_is_loaded(model, tensors, dtype) for model in self.models)


def _is_loaded(model: ToyModel, tensors: Mapping[str, Tensor], dtype: torch.dtype) -> bool:
    expected = ToyModel(model.rank, model.ranks, dtype)
    expected.load_weights((name, tensor.to(dtype)) for name, tensor in tensors.items())
    parameters = dict(expected.named_parameters())
    return all(torch.equal(value.cpu(), parameters[name]) for name, value in model.named_parameters())
