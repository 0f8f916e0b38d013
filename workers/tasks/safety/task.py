"""The task: its prompts, the scores of their answers, and what training makes of reward and cost."""

from __future__ import annotations

from collections.abc import Sequence

from workers.config import SafetyOptions
from workers.scorer.client import Scores
from workers.scorer.conversation import conversation
from workers.tasks.base import COST, Example, Failure, Score, Split, example_id
from workers.tasks.safely import Asked
from workers.tasks.safety.asking import Asking, Wait
from workers.tasks.safety.lagrange import Rule
from workers.tasks.safety.penalty import penalised
from workers.tasks.safety.prompt_file import Row
from workers.tasks.safety.splits import splits


class Safety:
    """The task, with its prompts read. Raises BadPrompts where a file of the user's cannot be used."""

    name = "safety"

    def __init__(self, options: SafetyOptions) -> None:
        self._options = options
        self._asking = Asking(options)
        self.rule = Rule.of(options)
        self._prompts: dict[str, str] = {}
        self._examples = {split: [self._example(row) for row in rows] for split, rows in splits(options).items()}

    def examples(self, split: Split) -> Sequence[Example]:
        """All examples of a split, always in the same order."""
        return self._examples[split]

    def score(self, example: Example, completion: str) -> Score:
        """Reward R as the scorer gives it, with its cost C as a part. Raises ScorerFailed."""
        scores, _ = self.score_until_failure([(example, completion)])
        return scores[0]

    def score_until_failure(self, asked: Asked) -> tuple[list[Score], Failure | None]:
        """All scores in one go. A scorer that fails is nobody's prompt's fault: raises ScorerFailed."""
        prompts = [self._prompts[example.id] for example, _ in asked]
        scores = self._asking.score(prompts, [completion for _, completion in asked])
        return [_score(one) for one in scores], None

    def fitness(self, scores: Sequence[Score], weight: float) -> list[float]:
        """R − λ·C of each answer, for λ = weight, with the options of the config."""
        costs = [score.parts[COST] for score in scores]
        return penalised([score.reward for score in scores], costs, weight, self._options)

    def waits_by(self, wait: Wait) -> None:
        """From here on pauses of the scorer's are waited out by `wait`."""
        self._asking.wait = wait

    def _example(self, row: Row) -> Example:
        name = example_id(row.prompt)
        self._prompts[name] = row.prompt
        content = conversation(row.prompt, "") if self._options.conversation else row.prompt
        return Example(name, ({"role": "user", "content": content},), "", row.categories)


def _score(scores: Scores) -> Score:
    return Score(scores.reward, {COST: scores.cost})
