"""The safety task: its prompts, the scores of their answers, and the fitness from reward and cost."""

from __future__ import annotations

from collections.abc import Sequence

from workers.config import SafetyOptions
from workers.scorer.client import Scores
from workers.scorer.conversation import conversation
from workers.tasks.base import COST, Example, Failure, Score, Split, example_id
from workers.tasks.safety.lagrange import Rule
from workers.tasks.safety.penalty import penalise
from workers.tasks.safety.prompt_file import Row
from workers.tasks.safety.scorer import PatientScorer, Wait
from workers.tasks.safety.splits import make_splits
from workers.tasks.scoring import ScoringPairs


class Safety:
    """The task, with its prompts read. Raise BadPrompts if a file of the user's cannot be used."""

    name = "safety"

    def __init__(self, options: SafetyOptions) -> None:
        self._options = options
        self._scorer = PatientScorer(options)
        self.rule = Rule.from_options(options)
        self._prompts: dict[str, str] = {}
        self._safe_responses: dict[str, str] = {}
        self._examples = {split: [self._example(row) for row in rows] for split, rows in make_splits(options).items()}

    def examples(self, split: Split) -> Sequence[Example]:
        """Return all examples of a split, always in the same order."""
        return self._examples[split]

    def score(self, example: Example, completion: str) -> Score:
        """Return reward R as the scorer gives it, with its cost C as a part. Raise ScorerFailed."""
        scores, _ = self.score_until_failure([(example, completion)])
        return scores[0]

    def score_until_failure(self, pairs: ScoringPairs) -> tuple[list[Score], Failure | None]:
        """Score all in one request. A scorer's failure is not the fault of a prompt: raise ScorerFailed."""
        prompts = [self._prompts[example.id] for example, _ in pairs]
        scores = self._scorer.score(prompts, [completion for _, completion in pairs])
        return [_score(answer_scores) for answer_scores in scores], None

    def fitness(self, scores: Sequence[Score], weight: float) -> list[float]:
        """Return R − λ·C of each answer, for λ = weight, with the options of the config."""
        costs = [score.parts[COST] for score in scores]
        return penalise([score.reward for score in scores], costs, weight, self._options)

    def right_response(self, example: Example) -> str | None:
        """Return the first published response that is safe; of generated requests the best answer."""
        return self._safe_responses.get(example.id)

    def waits_by(self, wait: Wait) -> None:
        """Use `wait` for the scorer's pauses from now on."""
        self._scorer.wait = wait

    def _example(self, row: Row) -> Example:
        name = example_id(row.prompt)
        self._prompts[name] = row.prompt
        for i in range(2):
            response = row.published.get(f"response_{i}")
            if row.published.get(f"is_response_{i}_safe") is True and isinstance(response, str):
                self._safe_responses.setdefault(name, response)
        content = conversation(row.prompt, "") if self._options.conversation else row.prompt
        return Example(name, ({"role": "user", "content": content},), "", row.categories)


def _score(scores: Scores) -> Score:
    return Score(scores.reward, {COST: scores.cost})
