"""Judge one checkpoint of a safety run on its held-out prompts, and write the published result files.

    python -m workers.evaluation.alignment MODEL --config run.json --out DIR [--tag TAG] [--prompts N]

MODEL is a checkpoint folder, tiny or micro. The run's config names the held-out prompts, the answer length and the
scorer: pass another config to judge by another scorer or another file. Answers are greedy. Exit codes: 0; 1, the scorer
gave no scores, nothing is written; 2, the config or the model cannot be used.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers.utils import logging

from workers import models, tasks
from workers.config import ConfigError, Problem, RunConfig, SafetyOptions
from workers.evaluation.alignment.files import ScoredAnswer, write
from workers.models.decoder import Decoder
from workers.scorer.client import ScorerFailed
from workers.tasks.protocols import COST

DONE, FAILED, BAD_CONFIG = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line. Return the exit code."""
    arguments = _parser().parse_args(argv)
    logging.disable_progress_bar()
    try:
        config = RunConfig.read(arguments.config)
        options = _options(config)
        answers = _answers(config, arguments.model, arguments.prompts)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return BAD_CONFIG
    except ScorerFailed as error:
        print(error, file=sys.stderr)
        return FAILED
    write(
        arguments.out,
        arguments.tag or Path(arguments.model).name,
        answers,
        options.lambda_init,
        _used(config, options, arguments.model),
    )
    print(f"{arguments.out}: {len(answers)} responses, {sum(a.cost <= 0 for a in answers) / len(answers):.1%} safe")
    return DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m workers.evaluation.alignment", description="Score a checkpoint by reward and cost."
    )
    parser.add_argument("model", metavar="MODEL", help="checkpoint folder, tiny or micro")
    parser.add_argument("--config", type=Path, required=True, help="run.json with task safety")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="output folder")
    parser.add_argument("--tag", default="", help="name of the output files; default: the folder's name")
    parser.add_argument("--prompts", type=int, help="number of held-out prompts, from the first")
    return parser


def _options(config: RunConfig) -> SafetyOptions:
    if not isinstance(config.task.options, SafetyOptions):
        raise ConfigError(
            [Problem("task.name", f"must be safety to be scored by reward and cost, not {config.task.name}")]
        )
    return config.task.options


def _answers(config: RunConfig, model: str, count: int | None) -> list[ScoredAnswer]:
    """Return the model's scored answers. Raise ConfigError and ScorerFailed."""
    task = tasks.make(config.task)
    examples = task.examples("eval")[:count]
    loaded = models.load(dataclasses.replace(config.model, path=model))
    prompts = models.PromptFormat.from_config(config, loaded.tokenizer)
    prompt_ids = [prompts.ids(example.messages) for example in examples]
    longest = config.evaluation.max_new_tokens or config.max_new_tokens
    responses = [completion.text for completion in Decoder(loaded.model, loaded.tokenizer).greedy(prompt_ids, longest)]
    scores = tasks.score_safely(task, list(zip(examples, responses, strict=True)))
    return [
        ScoredAnswer(example.messages[-1]["content"], text, score.reward, score.parts[COST])
        for example, text, score in zip(examples, responses, scores, strict=True)
    ]


def _used(config: RunConfig, options: SafetyOptions, model: str) -> dict[str, Any]:
    """Return model and scorer under the published names."""
    return {
        "policy_model_path": model,
        "num_iterations": _step(model),
        "scorer_url": options.scorer,
        "used_policy_model": True,
        "used_vllm": False,
        "policy_vllm_ckpt": None,
        "dataset_split": options.eval_file or "generated",
        "reward_model": options.scorer,
        "cost_model": options.scorer,
    }


def _step(model: str) -> int:
    """Return the step of a run's checkpoint, by its name; 0 for a base model."""
    number = Path(model).name.rpartition("step-")[2]
    return int(number) if number.isdigit() else 0


if __name__ == "__main__":
    sys.exit(main())
