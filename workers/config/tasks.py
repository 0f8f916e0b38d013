"""The tasks that a config can name, and each task's own options. The tasks themselves are in `workers/tasks`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from workers.config.decode import Problem
from workers.config.fields import Bounds, Resource, Shape, Tagged

MODULE_AND_ATTRIBUTE = Shape(
    r"[A-Za-z_]\w{0,99}(\.[A-Za-z_]\w{0,99}){0,9}:[A-Za-z_]\w{0,99}", "module:attribute, such as my_task:Task"
)

GoldMeasure = Literal["right", "safe"]
EMBEDDED = "embedded"
SCORER = Shape(
    r"https?://[^\s/?#@]+(/[^\s?#]*)?|[A-Za-z0-9][\w.-]{0,99}",
    "embedded, the name of a registered scorer, or an address such as http://node7:8000",
)


@dataclass(frozen=True)
class TaskOptions:
    """The base of the options of a task: what pages show of the task."""

    essential: ClassVar[tuple[str, ...]] = ()
    """Options that the launch form shows without unfolding a section."""
    headline: ClassVar[tuple[str, ...]] = ()
    """Keys of the metrics that pages show first, in addition to those of all tasks."""
    has_cost: ClassVar[bool] = False
    """Whether a scorer gives responses a reward and a cost, which λ weighs: the options are those of SafetyOptions."""
    gold: ClassVar[GoldMeasure] = "right"
    """Measure that the reward stands for, and that training never sees: the share of responses whose answer is right,
    or of those that are safe."""


@dataclass(frozen=True)
class ConcisenessOptions(TaskOptions):
    """Answer as briefly as the reference: R = −| len(answer) − len(reference) | in characters."""

    headline = ("accuracy/right",)

    train_file: Annotated[str, Resource("data")] = ""
    """JSONL with question and answer, and optionally category, source and wrong (a list of wrong answers), on each
    line; empty means generated facts."""
    eval_file: Annotated[str, Resource("data")] = ""
    """Held-out JSONL of the same kind; empty means generated facts that training never sees."""
    system_prompt: str = ""
    """System message before each question; empty means the chat template's own."""


@dataclass(frozen=True)
class CountdownOptions(TaskOptions):
    """Reach a target from given numbers, each exactly once: R = 0.1 · format + answer."""

    headline = ("accuracy/right",)

    train_file: Annotated[str, Resource("data")] = ""
    """JSON list of problems, as published: context, numbers, target; category, source. Empty: generated problems."""
    eval_file: Annotated[str, Resource("data")] = ""
    """Held-out file of the same kind. If it is the training file, the first problems train, the others are held out."""
    train_problems: Annotated[int, Bounds(at_least=1, at_most=10_000_000)] = 200
    """Number of training problems if both are one file; the published split uses 200."""


@dataclass(frozen=True)
class MathOptions(TaskOptions):
    """Solve a problem of mathematics: R = 1 if the final answer has the reference's value, else 0."""

    headline = ("accuracy/right",)

    train_file: Annotated[str, Resource("data")] = ""
    """JSONL of problems as GSM8K, MATH or MATH-500 are published. Without any file: generated sums."""
    eval_file: Annotated[str, Resource("data")] = ""
    """Held-out JSONL of the same kind. If only one of the two files is set, the other split is empty."""
    instruction: str = r"Please reason step by step, and put your final answer within \boxed{}."
    """Text on a line after each problem of a file; empty means none. Generated sums have none."""


@dataclass(frozen=True)
class ChoiceOptions(TaskOptions):
    """Choose the right option of several: R = 1 if the response names its letter, else 0."""

    headline = ("accuracy/right",)

    train_file: Annotated[str, Resource("data")] = ""
    """JSONL of questions as MMLU, ARC or HellaSwag are published. Without any file: generated facts."""
    eval_file: Annotated[str, Resource("data")] = ""
    """Held-out JSONL of the same kind. If only one of the two files is set, the other split is empty."""
    instruction: str = "Answer with the letter of the correct option."
    """Text on a line after the options of each question; empty means none."""


@dataclass(frozen=True)
class SafetyOptions(TaskOptions):
    """Answer helpfully without harm: R − λ·C, reward and cost from a scorer, λ moved by the cost."""

    essential = ("scorer", "lambda_rule", "lambda_init", "lambda_lr")
    headline = ("safety/safe_ratio", "cost/mean")
    has_cost = True
    gold = "safe"

    scorer: Annotated[str, SCORER, Resource("scorer")] = EMBEDDED
    """Source of reward and cost: embedded (tiny models in the run), the name of a registered scorer, or an address."""
    scorer_token_file: Annotated[str, Resource("by_hand")] = ""
    """File with the token of a scorer that is given by its address. A registered scorer names its token file itself."""
    scorer_site: Annotated[str, Resource("by_hand")] = ""
    """Base URL of the esweb that knows registered scorers by name."""
    scorer_site_token_file: Annotated[str, Resource("by_hand")] = ""
    """File with a token of scope read for that esweb."""
    scorer_batch: Annotated[int, Bounds(at_least=1, at_most=1024)] = 32
    """Responses in one request to the scorer."""
    scorer_timeout_seconds: Annotated[float, Bounds(above=0, at_most=3600)] = 60.0
    """Time limit of one request, in seconds."""
    on_scorer_failure: Literal["wait", "stop"] = "wait"
    """After three failures: wait until the scorer is back, or save and fail. A refusal (401, 404, …) always fails."""
    scorer_wait_seconds: Annotated[float, Bounds(above=0, at_most=31_622_400)] = 3600.0
    """Maximum wait for a scorer, in seconds; afterwards the run ends as with stop."""
    train_file: Annotated[str, Resource("data")] = ""
    """JSONL with a prompt on each line, in the format of PKU-SafeRLHF; empty means generated requests."""
    eval_file: Annotated[str, Resource("data")] = ""
    """Held-out file of the same kind; if it is the training file, it is split. Prompts in both never train."""
    train_prompts: Annotated[int, Bounds(at_least=0, at_most=10_000_000)] = 0
    """Number of training prompts, balanced over which of their two published responses is safe; 0 means all."""
    eval_prompts: Annotated[int, Bounds(at_least=0, at_most=10_000_000)] = 0
    """Number of held-out prompts, selected in the same way; 0 means all, or half of a file that also trains."""
    selection_seed: Annotated[int, Bounds(at_least=0, at_most=2**31 - 1)] = 42
    """Seed of this selection."""
    conversation: bool = False
    """Use Safe-RLHF's format (BEGINNING OF CONVERSATION: USER: … ASSISTANT:), for models without a chat template."""
    lambda_rule: Literal["published", "safe_rlhf", "fixed"] = "published"
    """Update of λ; J = mean(C) + d. published: ln λ changes by lr·EMA(J). safe_rlhf: by lr·EMA(J)·λ. fixed: none."""
    lambda_init: Annotated[float, Bounds(above=0, at_most=1_000_000)] = 0.5
    """λ at the first step."""
    lambda_lr: Annotated[float, Bounds(at_least=0, at_most=1000)] = 0.01
    """Learning rate of λ; the published runs use 0.005, Safe-RLHF 0.1."""
    lambda_min: Annotated[float, Bounds(above=0, at_most=1_000_000)] = 1e-4
    """Minimum of λ."""
    lambda_max: Annotated[float, Bounds(above=0, at_most=1_000_000)] = 10.0
    """Maximum of λ; the published runs use 5."""
    lambda_positive_only: bool = True
    """Use max(J, 0) instead of J in the published rule, as in the published runs: λ can only grow."""
    lambda_ema: Annotated[float, Bounds(at_least=0, at_most=0.9999)] = 0.9
    """Weight of past values in the moving average of J; 0 uses each J without averaging."""
    cost_offset: Annotated[float, Bounds(at_least=-1_000_000, at_most=1_000_000)] = 0.0
    """The offset d: the target is a mean cost of at most −d."""
    standardise: bool = False
    """Divide R and C by their standard deviations over the responses scored together, without centring them."""
    safe_first: bool = False
    """If C > 0, multiply the reward by safe_first_factor."""
    safe_first_factor: Annotated[float, Bounds(at_least=0, at_most=1)] = 0.0
    """Factor of an unsafe response's reward with safe_first."""

    def problems(self) -> Iterator[Problem]:
        if not self.lambda_min <= self.lambda_init <= self.lambda_max:
            limits = f"lambda_min = {self.lambda_min:g} and lambda_max = {self.lambda_max:g}"
            yield Problem("lambda_init", f"must be between {limits}, not {self.lambda_init:g}")

    @property
    def is_scorer_registered(self) -> bool:
        """Return whether the scorer is to be looked up by its name."""
        return self.scorer != EMBEDDED and not self.scorer.startswith(("http://", "https://"))


@dataclass(frozen=True)
class OwnOptions(TaskOptions):
    """A task of your own: a class or function in a Python file in a folder that an administrator allowed."""

    essential = ("path", "options")

    path: Annotated[str, MODULE_AND_ATTRIBUTE, Resource("code")]
    """Python file in a folder allowed for the cluster, and the class or function in it."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options of your task, passed to it unchanged."""


TASKS: Mapping[str, type[TaskOptions]] = {
    "conciseness": ConcisenessOptions,
    "countdown": CountdownOptions,
    "math": MathOptions,
    "choice": ChoiceOptions,
    "safety": SafetyOptions,
    "own": OwnOptions,
}
"""Name of a task -> its options. The only list of tasks of the configs."""

if TYPE_CHECKING:
    TaskName = str
else:
    TaskName = Literal[*TASKS]


@dataclass(frozen=True)
class TaskConfig:
    """The task that the model learns."""

    name: TaskName = "conciseness"
    """The task. own: a task that you wrote."""
    options: Annotated[Any, Tagged("name", TASKS)] = field(default_factory=ConcisenessOptions)
    """The task's own options."""
    prompt_style: Literal["auto", "text", "chat"] = "auto"
    """Prompt format. chat: the model's chat template. text: plain text with BOS. auto: chat if there is a template."""
    prefill: str = ""
    """Text that every response continues, such as <think>. It is not part of the response that is scored and stored."""
    reward_seconds: Annotated[float, Bounds(above=0, at_most=3600)] = 10.0
    """Time limit in seconds of one reward of an own task. After a second timeout, the run fails."""
