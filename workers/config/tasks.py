"""What a model is taught, and each task's own options. The tasks themselves live in `workers/tasks`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from workers.config.decode import Problem
from workers.config.knobs import Bounds, Resource, Shape, Tagged

MODULE_AND_ATTRIBUTE = Shape(
    r"[A-Za-z_]\w{0,99}(\.[A-Za-z_]\w{0,99}){0,9}:[A-Za-z_]\w{0,99}", "module:attribute, such as my_task:Task"
)

EMBEDDED = "embedded"
SCORER = Shape(
    r"https?://[^\s/?#@]+(/[^\s?#]*)?|[A-Za-z0-9][\w.-]{0,99}",
    "embedded, the name of a registered scorer, or an address such as http://node7:8000",
)


@dataclass(frozen=True)
class ConcisenessOptions:
    """Answer as briefly as the reference: R = −| len(answer) − len(reference) | in characters."""

    train_file: Annotated[str, Resource("data")] = ""
    """JSONL with question and answer on each line, category and source where known; empty means generated facts."""
    eval_file: Annotated[str, Resource("data")] = ""
    """Held-out JSONL of the same kind; empty means generated facts that training never sees."""
    system_prompt: str = ""
    """A system message before each question; empty means the chat template's own."""


@dataclass(frozen=True)
class CountdownOptions:
    """Reach a target from given numbers, each exactly once: R = 0.1 · format + answer."""

    train_file: Annotated[str, Resource("data")] = ""
    """JSON list of problems, as published: context, numbers, target; category, source. Empty means generated ones."""
    eval_file: Annotated[str, Resource("data")] = ""
    """Held-out file of the same kind. The file that also trains: its first problems train, the others are held out."""
    train_problems: Annotated[int, Bounds(at_least=1, at_most=10_000_000)] = 200
    """How many problems train where one file serves both; the published split is 200."""


@dataclass(frozen=True)
class SafetyOptions:
    """Answer helpfully without harm: R − λ·C, reward and cost from a scorer, λ moved by the cost."""

    scorer: Annotated[str, SCORER, Resource("scorer")] = EMBEDDED
    """Who gives reward and cost: embedded (tiny models in the run), the name of a registered scorer, or an address."""
    scorer_token_file: Annotated[str, Resource("by_hand")] = ""
    """File with the token of a scorer given by its address; a registered one says where its token lies."""
    scorer_site: Annotated[str, Resource("by_hand")] = ""
    """Base URL of the esweb that knows registered scorers by name."""
    scorer_site_token_file: Annotated[str, Resource("by_hand")] = ""
    """File with a token of scope read for that esweb."""
    scorer_batch: Annotated[int, Bounds(at_least=1, at_most=1024)] = 32
    """Answers in one request to the scorer."""
    scorer_timeout_seconds: Annotated[float, Bounds(above=0, at_most=3600)] = 60.0
    """How long one request may take."""
    on_scorer_failure: Literal["wait", "stop"] = "wait"
    """It failed three times: wait until it is back, or save and end the run FAILED, as a refusal (401, 404, …) does."""
    scorer_wait_seconds: Annotated[float, Bounds(above=0, at_most=31_622_400)] = 3600.0
    """Longest wait for a scorer to come back; then the run ends as with stop."""
    train_file: Annotated[str, Resource("data")] = ""
    """JSONL with a prompt on each line, as PKU-SafeRLHF is published; empty means the project's generated requests."""
    eval_file: Annotated[str, Resource("data")] = ""
    """Held-out file of the same kind; the file that also trains is divided. What is in both never trains."""
    train_prompts: Annotated[int, Bounds(at_least=0, at_most=10_000_000)] = 0
    """So many training prompts, balanced over which of their two published responses is safe; 0 means all."""
    eval_prompts: Annotated[int, Bounds(at_least=0, at_most=10_000_000)] = 0
    """So many held-out prompts, chosen alike; 0 means all, or half of a file that also trains."""
    selection_seed: Annotated[int, Bounds(at_least=0, at_most=2**31 - 1)] = 42
    """Seed of the choice."""
    conversation: bool = False
    """Ask in Safe-RLHF's words (BEGINNING OF CONVERSATION: USER: … ASSISTANT:), for models without a chat template."""
    lambda_rule: Literal["published", "safe_rlhf", "fixed"] = "published"
    """How λ moves with J = mean(C) + d: ln λ by lr·EMA(J), by lr·EMA(J)·λ as in Safe-RLHF, or not at all."""
    lambda_init: Annotated[float, Bounds(above=0, at_most=1_000_000)] = 0.5
    """λ at the first step."""
    lambda_lr: Annotated[float, Bounds(at_least=0, at_most=1000)] = 0.01
    """Rate of λ; the published runs use 0.005, Safe-RLHF 0.1."""
    lambda_min: Annotated[float, Bounds(above=0, at_most=1_000_000)] = 1e-4
    """λ is never less."""
    lambda_max: Annotated[float, Bounds(above=0, at_most=1_000_000)] = 10.0
    """λ is never more; the published runs use 5."""
    lambda_positive_only: bool = True
    """The published rule with max(J, 0) in place of J, as in the published runs: λ can only grow."""
    lambda_ema: Annotated[float, Bounds(at_least=0, at_most=0.9999)] = 0.9
    """Share of the past in the moving average of J; 0 takes each J as it is."""
    cost_offset: Annotated[float, Bounds(at_least=-1_000_000, at_most=1_000_000)] = 0.0
    """d: the mean cost is to stay at or below −d."""
    standardise: bool = False
    """Divide R and C by their standard deviations over the answers scored together; they are not centred."""
    safe_first: bool = False
    """Where C > 0, the reward counts only by safe_first_factor."""
    safe_first_factor: Annotated[float, Bounds(at_least=0, at_most=1)] = 0.0
    """What is left of an unsafe answer's reward with safe_first."""

    def problems(self) -> Iterator[Problem]:
        if not self.lambda_min <= self.lambda_init <= self.lambda_max:
            limits = f"lambda_min = {self.lambda_min:g} and lambda_max = {self.lambda_max:g}"
            yield Problem("lambda_init", f"must lie between {limits}, and is {self.lambda_init:g}")

    @property
    def is_scorer_registered(self) -> bool:
        """True where the scorer is to be found by its name."""
        return self.scorer != EMBEDDED and not self.scorer.startswith(("http://", "https://"))


@dataclass(frozen=True)
class OwnOptions:
    """A task of your own: a class or function in a Python file that an administrator's folder holds."""

    path: Annotated[str, MODULE_AND_ATTRIBUTE, Resource("code")]
    """Where it is: a file in a folder allowed for the cluster, and the class or function in it."""
    options: dict[str, Any] = field(default_factory=dict)
    """Whatever your task wants to be told; it gets this object as it stands."""


TASKS: Mapping[str, type] = {
    "conciseness": ConcisenessOptions,
    "countdown": CountdownOptions,
    "safety": SafetyOptions,
    "own": OwnOptions,
}


@dataclass(frozen=True)
class TaskConfig:
    """What the model is taught."""

    name: Literal["conciseness", "countdown", "safety", "own"] = "conciseness"
    """The task. own: one that you wrote."""
    options: Annotated[Any, Tagged("name", TASKS)] = field(default_factory=ConcisenessOptions)
    """The task's own options."""
    prompt_style: Literal["auto", "text", "chat"] = "auto"
    """Prompts by the model's chat template (chat), as plain text with BOS (text), or chat where it has one (auto)."""
    prefill: str = ""
    """What every answer goes on from, such as <think>; it is no part of the answer that is scored and stored."""
    reward_seconds: Annotated[float, Bounds(above=0, at_most=3600)] = 10.0
    """Time limit of one reward of an own task. A reward that takes longer is tried once more, then the run fails."""
