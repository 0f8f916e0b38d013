"""Settings of Evolution Strategies: θ ← θ + (α/N) Σ zᵢ εᵢ. Defaults are the paper's (arXiv 2509.24372, §4).

anchor_decay and kl_beta, both off by default, hold θ near the base model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Literal

from workers.config.decode import Problem
from workers.config.es_backends import AdapterServerConfig, BackEnd, VllmConfig
from workers.config.es_noise import NOISES, NoiseName
from workers.config.fields import Bounds, Renamed, Shape

LAYERS = Shape(
    r"([0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*)?", "empty, or numbers and ranges such as 0-9,12"
)


@dataclass(frozen=True)
class BaseLoraConfig:
    """The adapter that is trained instead of the weights themselves."""

    rank: Annotated[int, Bounds(at_least=1, at_most=512)] = 8
    """Rank of A and B."""
    alpha: Annotated[float, Bounds(above=0, at_most=10_000)] = 16.0
    """Scale: the adapter adds (alpha / rank) · B A to each target matrix."""
    targets: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    """Names of the linear layers that get an adapter."""


@dataclass(frozen=True)
class LoraConfig(BaseLoraConfig):
    """The adapter of ES: its members are perturbed copies of it."""

    layers: Annotated[str, LAYERS] = ""
    """Transformer layers that get an adapter, counted from 0, such as 0-9 or 0-9,12; empty means all."""
    start: Literal["zero_b", "random"] = "zero_b"
    """Start of the adapter. zero_b: A normal with variance 1 / in and B zero, so that it starts as the base model.
    random: A and B both normal, times start_scale and the scale of noise_scale."""
    start_scale: Annotated[float, Bounds(above=0, at_most=10_000)] = 1.0
    """Standard deviation of a random start, in units of noise_scale."""
    noise_scale: Literal["one", "weights"] = "one"
    """Unit of the noise in A and B, which the config's scale multiplies. one: 1. weights: 10 % of the mean magnitude of
    the target matrix."""

    def problems(self) -> Iterator[Problem]:
        for part in self.layers.split(","):
            first, _, last = part.partition("-")
            if last and int(first) > int(last):
                yield Problem("layers", f"has the range {part}, which must begin with the lower number")

    def layer_numbers(self) -> tuple[int, ...]:
        """Return the numbers of `layers` in increasing order, each once; none means all layers."""
        ranges = (part.partition("-") for part in self.layers.split(",") if part)
        numbers = {n for first, _, last in ranges for n in range(int(first), int(last or first) + 1)}
        return tuple(sorted(numbers))


@dataclass(frozen=True)
class EsConfig:
    """Evolution Strategies."""

    iterations: Annotated[int, Bounds(at_least=1, at_most=10_000_000)] = 1000
    """Updates of the weights."""
    population: Annotated[int, Bounds(at_least=2, at_most=100_000)] = 30
    """Members per iteration, N: perturbed copies of the model that are scored."""
    sigma: Annotated[float, Bounds(above=0, at_most=1000)] = 1e-3
    """Scale of the noise, σ: a member is the model plus σ·ε."""
    alpha: Annotated[float, Bounds(above=0, at_most=1000)] = 5e-4
    """Learning rate, α. The paper's choice is σ/2."""
    anchor_decay: Annotated[float, Bounds(at_least=0, at_most=1000)] = 0.0
    """Anchored weight decay, λ (arXiv 2605.30148): after each update θ ← θ − α·λ·(θ − θ₀), with θ₀ the base model, or
    the LoRA's start. α·λ must be below 1. Dead iterations decay too. 0 means none; that paper recommends 10 for
    α = 5e-4. Each engine holds θ₀ in memory, in the precision of the model."""
    kl_beta: Annotated[float, Bounds(at_least=0, at_most=1_000_000)] = 0.0
    """β: the fitness of a member is its mean reward (less λ times its cost, if the task has one) minus
    β · KL(member ‖ base model), the exact KL summed over the tokens of each greedy response, in nats, and averaged over
    the prompts. Above 0, engine 0 holds a second copy of the base model, and reads all responses of every member with
    that member and with the copy: two forward passes, while other engines wait."""
    noise: NoiseName = "full"
    """full: independent for every weight. low_rank: A·Bᵀ for each matrix, far cheaper in a batch.
    correlated: equal across tensors, only to reproduce the paper's first code."""
    rank: Annotated[int, Bounds(at_least=1, at_most=64)] = 1
    """Rank of low_rank noise."""
    antithetic: bool = False
    """Members in pairs +ε, −ε. The population must be even."""
    layer_scale: bool = False
    """Scale the noise of each tensor by its root mean square, so that σ is relative."""
    shaping: Literal["z_score", "centred_ranks"] = "z_score"
    """Conversion of fitness to weights: z-scores (population std), or ranks spread over [−½, ½]. Differences up to 1e-8
    of the largest fitness, or of 1, count as none; without a larger one, the iteration is dead and makes no step."""
    prompts: Annotated[int, Bounds(at_least=0, at_most=1_000_000)] = 0
    """Prompts sampled in each iteration, the same for all members; 0 means all prompts."""
    max_new_tokens: Annotated[int, Bounds(at_least=1, at_most=1_000_000)] = 128
    """Maximum response length in tokens. Decoding is greedy."""
    backend: Annotated[BackEnd, Renamed({"hf": "native"})] = "native"
    """Decoder of the members. native: esweb's own, many members in a batch, for Qwen2, Qwen3, Llama, Mistral, Gemma 2
    and Gemma 3 (text); it is compared with transformers before the run starts. Other architectures fall back to
    transformers. transformers: any architecture, one member after another. vllm: vLLM, one member after another in each
    engine, several engines per GPU; it needs vLLM's environment (guide vLLM). adapter_server: a running vLLM or SGLang
    server, to which each member is sent as a LoRA adapter; it needs es.lora and es.adapter_server."""
    engines: Annotated[int, Bounds(at_least=0, at_most=1024)] = 0
    """Processes that share the members of an iteration; 0 means one per GPU, or one without GPUs; with vllm, as many
    per GPU as fit, up to three. They hold equal weights and exchange only seeds and coefficients."""
    hash_every: Annotated[int, Bounds(at_least=1, at_most=10_000_000)] = 10
    """With several engines, compare hashes of their weights every this many iterations and before each checkpoint."""
    rows: Annotated[int, Bounds(at_least=0, at_most=100_000)] = 0
    """Maximum sequences per batch: members × prompts are split into such batches. 0 computes the number from device,
    model and config at the first start; the run then keeps it."""
    refill: bool = True
    """On a GPU, the next response takes the slot of one that has finished, so that all members of an engine share its
    steps. Responses may then differ in rounding from those of a run with another number of GPUs. false: fixed batches,
    as on a CPU; equal GPUs then give equal responses, whatever their number."""
    checkpoint_every: Annotated[int, Bounds(at_least=0, at_most=10_000_000)] = 100
    """Save a checkpoint in Hugging Face format every this many iterations; 0 means only at the end."""
    keep: Literal["last", "all"] = "last"
    """Checkpoints that stay on disk. last: the newest one; older ones are deleted once it is saved, since the replay
    log rebuilds the checkpoint of any iteration bit for bit, and that of the last iteration has no float32 weights
    besides those of the model. all: every one that was saved."""
    on_failure: Literal["fail", "drop_member"] = "fail"
    """If a reward fails twice, or the KL of kl_beta is no finite number. fail: the run fails and names the prompt.
    drop_member: the member is left out of the update, which is recorded."""
    lora: LoraConfig | None = None
    """Perturb and train a LoRA adapter instead of the weights; null for the weights."""
    vllm: VllmConfig = field(default_factory=VllmConfig)
    adapter_server: AdapterServerConfig | None = None
    """The server of es.backend adapter_server; null for other back ends."""

    @property
    def factor_rank(self) -> int:
        """Return the rank of the members' differences from the weights that they share: that of es.lora or of factored
        noise. 0 if each member has weights of its own."""
        if self.lora is not None:
            return self.lora.rank
        return self.rank if NOISES[self.noise].is_factored else 0

    def problems(self) -> Iterator[Problem]:
        if self.antithetic and self.population % 2:
            yield Problem("population", f"must be even if antithetic is true, not {self.population}")
        if self.alpha * self.anchor_decay >= 1:
            limit = f"{1 / self.alpha:.10g}, which is 1 / es.alpha"
            yield Problem("anchor_decay", f"must be at least 0 and below {limit}, not {self.anchor_decay:.10g}")
        if self.backend not in NOISES[self.noise].back_ends:
            choices = " or ".join(name for name, facts in NOISES.items() if self.backend in facts.back_ends)
            yield Problem("noise", f"must be {choices} with es.backend {self.backend}, not {self.noise}")
        if self.backend == "vllm":
            yield from self._vllm_problems()
        yield from self._adapter_problems()

    def _vllm_problems(self) -> Iterator[Problem]:
        if self.lora is not None:
            yield Problem("lora", "must be null with es.backend vllm; adapter_server sends members as LoRA adapters")
        if self.kl_beta:
            yield Problem("kl_beta", "must be 0 with es.backend vllm, whose engines compute no KL of members")

    def _adapter_problems(self) -> Iterator[Problem]:
        if self.lora is not None and self.lora.noise_scale == "weights" and self.layer_scale:
            yield Problem(
                "layer_scale", "must be false with es.lora.noise_scale weights, which scales the noise itself"
            )
        if self.backend != "adapter_server":
            if self.adapter_server is not None:
                yield Problem(
                    "adapter_server", f"needs es.backend adapter_server, not {self.backend}; or set it to null"
                )
            return
        if self.lora is None:
            yield Problem("lora", "must be set with es.backend adapter_server, which sends members as LoRA adapters")
        if self.adapter_server is None:
            choices = "{server: its address or registered name, kind: vllm or sglang}"
            yield Problem("adapter_server", f"must be set with es.backend adapter_server: {choices}")
        if self.engines > 1:
            yield Problem(
                "engines",
                f"must be 0 or 1 with es.backend adapter_server, not {self.engines}: the server answers all members",
            )
