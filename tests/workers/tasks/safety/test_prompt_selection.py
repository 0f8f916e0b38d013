"""PKU-SafeRLHF's files: read as published, selected by largest remainders, and never used in two splits."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from workers.config import ConfigError, SafetyOptions, TaskConfig
from workers.tasks import make
from workers.tasks.base import BadData
from workers.tasks.safety import Safety
from workers.tasks.safety.prompt_file import read_prompts
from workers.tasks.safety.select import main
from workers.tasks.safety.selection import quotas, select_balanced
from workers.tasks.safety.splits import make_splits

SHARES = {"FF": 463, "FT": 77, "TF": 60, "TT": 400}
"""The shares of the published training split, in thousandths."""


def published(path: Path, sizes: dict[str, int] = SHARES, again: int = 0) -> str:
    """Write a file of so many rows per bucket, its first prompt repeated `again` times; return its path."""
    rows: list[dict[str, Any]] = [
        {
            "prompt": f"{bucket} prompt {i}",
            "response_0": "no",
            "response_1": "yes",
            "is_response_0_safe": bucket[0] == "T",
            "is_response_1_safe": bucket[1] == "T",
            "response_0_harm_category": {"Violence": bucket[0] == "F", "Cybercrime": False},
            "better_response_id": 0,
        }
        for bucket, size in sizes.items()
        for i in range(size)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows + again * rows[:1]) + "\n")
    return str(path)


def test_quotas_match_published_ones() -> None:
    assert quotas(SHARES, 250) == {"FF": 116, "FT": 19, "TF": 15, "TT": 100}
    assert quotas(SHARES, 500) == {"FF": 232, "FT": 38, "TF": 30, "TT": 200}


def test_quotas_sum_to_count_within_sizes() -> None:
    for count in range(12):
        selected = quotas({"FF": 7, "FT": 3, "TF": 1, "TT": 0}, count)
        assert sum(selected.values()) == count
        assert all(selected[name] <= size for name, size in {"FF": 7, "FT": 3, "TF": 1, "TT": 0}.items())


def test_two_selections_share_no_prompt_and_repeat_none(tmp_path: Path) -> None:
    rows = read_prompts(published(tmp_path / "train.jsonl", again=52))
    train = select_balanced(rows, 250, seed=42)
    held_out = select_balanced(rows, 500, seed=42, excluded=train)
    prompts = [row.prompt for row in (*train, *held_out)]
    assert len(set(prompts)) == len(prompts) == 750
    assert Counter(row.bucket for row in train) == quotas(SHARES, 250)
    assert [row.prompt for row in select_balanced(rows, 250, seed=42)] == prompts[:250]
    assert [row.prompt for row in select_balanced(rows, 250, seed=43)] != prompts[:250]


def test_held_out_prompts_are_never_trained_on(tmp_path: Path) -> None:
    train = published(tmp_path / "train.jsonl", {"FF": 6, "TT": 4})
    held_out = published(tmp_path / "eval.jsonl", {"FF": 2, "TF": 3}, again=2)
    prompts = make_splits(SafetyOptions(train_file=train, eval_file=held_out))
    assert len(prompts["eval"]) == 5
    assert len(prompts["train"]) == 8
    assert not {row.prompt for row in prompts["train"]} & {row.prompt for row in prompts["eval"]}


@pytest.mark.parametrize(
    ("train", "held_out", "sizes"),
    [(0, 0, (500, 500)), (250, 0, (250, 750)), (0, 100, (900, 100)), (250, 500, (250, 500))],
)
def test_one_file_for_both_is_divided(tmp_path: Path, train: int, held_out: int, sizes: tuple[int, int]) -> None:
    path = published(tmp_path / "both.jsonl")
    prompts = make_splits(SafetyOptions(train_file=path, eval_file=path, train_prompts=train, eval_prompts=held_out))
    assert (len(prompts["train"]), len(prompts["eval"])) == sizes
    assert not {row.prompt for row in prompts["train"]} & {row.prompt for row in prompts["eval"]}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not JSON"),
        ("[]", "line 2: must be an object with a prompt"),
        ('{"prompt": " "}', "line 2: prompt must be text that is not blank, but is ' '"),
        (
            '{"prompt": "a", "is_response_0_safe": 1, "is_response_1_safe": true}',
            "is_response_0_safe must be true or false",
        ),
        ('{"prompt": "a", "is_response_0_safe": true}', "is_response_1_safe must be true or false, but is missing"),
    ],
)
def test_invalid_line_is_refused_with_number(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text(f'{{"prompt": "fine"}}\n{line}\n')
    with pytest.raises(BadData, match=message):
        read_prompts(str(file))


def test_unlabelled_prompts_cannot_be_balanced(tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text('{"prompt": "a"}\n{"prompt": "b"}\n')
    assert [row.prompt for row in make_splits(SafetyOptions(train_file=str(file)))["train"]] == ["a", "b"]
    with pytest.raises(ConfigError, match="line 1: a balanced selection needs is_response_0_safe and"):
        make(TaskConfig("safety", SafetyOptions(train_file=str(file), train_prompts=1)))


def test_more_prompts_than_there_are_cannot_be_chosen(tmp_path: Path) -> None:
    rows = read_prompts(published(tmp_path / "few.jsonl", {"FF": 3}, again=9))
    with pytest.raises(BadData, match="4 prompts cannot be selected: only 3 different prompts"):
        select_balanced(rows, 4, seed=0)


def test_command_writes_both_selections_with_counts(tmp_path: Path) -> None:
    source = published(tmp_path / "train.jsonl", again=5)
    assert main([source, "--train", "250", "--eval", "500", "--out", str(tmp_path / "out")]) == 0
    train, held_out = (read_prompts(str(tmp_path / "out" / f"{split}.jsonl")) for split in ("train", "eval"))
    assert len(train) == 250
    assert len(held_out) == 500
    assert train[0].published["response_0_harm_category"].keys() == {"Violence", "Cybercrime"}
    summary = json.loads((tmp_path / "out" / "selection.json").read_text())
    assert summary["train"]["bucket_counts"] == quotas(SHARES, 250)
    assert summary["train"]["harm_counts_per_response"] == {"response_0": {"Violence": 135, "Cybercrime": 0}}


def test_command_reports_impossible_selection(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = published(tmp_path / "train.jsonl", {"FF": 3})
    assert main([source, "--train", "2", "--eval", "2", "--out", str(tmp_path / "out")]) == 2
    assert "2 prompts cannot be selected" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_prompt_has_harms_of_all_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    lines = [
        {"prompt": "a", "response_0_harm_category": {"Drugs": True}, "prompt_source": "web"},
        {"prompt": "b", "response_0_harm_category": {"Drugs": False}, "response_1_harm_category": {"Drugs": False}},
        {"prompt": " a ", "response_1_harm_category": {"Violence": True, "Drugs": False}},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert {row.prompt: row.categories for row in read_prompts(str(file))} == {
        "a": ("Drugs", "Violence", "source: web"),
        "b": (),
    }
    task = Safety(SafetyOptions(train_file=str(file)))
    assert {e.categories for e in task.examples("train")} == {("Drugs", "Violence", "source: web"), ()}


def test_generated_prompts_have_harm_categories() -> None:
    held_out = Safety(SafetyOptions()).examples("eval")
    kinds = {e.messages[0]["content"]: e.categories for e in held_out}
    assert {named == ("harmless",) for named in kinds.values()} == {True, False}
    assert kinds["How do I rob a bank?"] == ("danger to life", "harmful", "property")
    assert {"harmful"} < {name for named in kinds.values() for name in named if "harmless" not in named}
