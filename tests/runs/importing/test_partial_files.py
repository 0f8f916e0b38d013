"""Files that lack a part of what was written, however they lost it: their runs are partial, with n of N."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from runs.importing import files_from_upload
from runs.importing.detect_format import recognise_sources
from runs.importing.records import Entry, ImportReport
from tests.cases import each_case
from tests.runs.importing import alignment_files
from workers.records import Response

QUESTIONS, SAMPLES = 4, 5
WHOLE = QUESTIONS * SAMPLES
MARK = '"sample_idx"'


def seed_result(seed: int) -> dict[str, object]:
    """Return a seed with its keys in the order of published evaluations: the totals come last."""
    questions = [
        {"question_idx": q, "question": f"What follows {q}?", "target_answer": str(q + 1), "completions": [
            {"sample_idx": n, "completion": f"It is {q + n % 2}: [ {{ \\ \"x\", é.", "completion_length": 20,
             "target_length": 1, "reward": -19.0 - seed, "num_tokens": 9, "mean_per_token_kl": 0.5}
            for n in range(SAMPLES)
        ]}
        for q in range(QUESTIONS)
    ]  # fmt: skip
    return {
        "reward": {"mean": -19.0 - seed, "std": 0.0, "min": -19.0, "max": -19.0},
        "kl": {"total_tokens": 180, "mean_per_token": 0.5, "per_sample_means": [0.5] * WHOLE},
        "answer_tokens": {"total": 180, "mean_per_sample": 9.0}, "completions": questions,
        "num_questions": QUESTIONS, "num_samples_per_question": SAMPLES, "total_samples": WHOLE,
    }  # fmt: skip


def evaluation(**changes: object) -> str:
    """Return an evaluation of two seeds as its file has it."""
    document = {
        "timestamp": "2026-01-11T05:05:49+00:00", "algorithm": "es",
        "config": {"num_samples": SAMPLES, "do_sample": True, "temperature": 0.7, "seeds_requested": [0, 1]},
        "seed_results": {"0": seed_result(0), "1": seed_result(1)}, "sigma": 0.001, "alpha": 0.0005, **changes,
    }  # fmt: skip
    return json.dumps(document, indent=2)


def without(result: dict[str, object], *keys: str) -> dict[str, object]:
    return {key: value for key, value in result.items() if key not in keys}


def read(data: bytes, name: str = "x.json") -> list[tuple[str, int, str]]:
    """Return (state, answers, reason) of each run that an upload makes."""
    with ExitStack() as keep:
        sources, _ = recognise_sources(files_from_upload(io.BytesIO(data), len(data), name, keep))
        return [run for source in sources for run in runs_of(source.entries(ImportReport()))]


def runs_of(entries: Iterator[Entry]) -> list[tuple[str, int, str]]:
    runs: dict[int, tuple[Entry, list[Response]]] = {}
    for entry in entries:
        _, answers = runs.setdefault(entry.run.part, (entry, []))
        answers += [entry.record] if isinstance(entry.record, Response) else []
    return [(entry.run.state.value, len(answers), entry.run.reason) for entry, answers in runs.values()]


def test_cut_evaluation_succeeds_only_with_all_answers() -> None:
    text = evaluation()
    start = text.index('"mean"', text.index('"seed_results"'))
    for end in range(start + 20, len(text), 61):
        for state, count, reason in read(text[:end].encode()):
            # N is known from the first seed's own list of KL; nothing before it in the file gives N.
            assert state == ("succeeded" if count == WHOLE else "partial"), end
            assert count == WHOLE or reason in {words(count, WHOLE), words(count, 0)}, end
            has_count = end > text.index('"answer_tokens"')
            assert count == WHOLE or not has_count or reason == words(count, WHOLE), (end, reason)


def words(count: int, whole: int) -> str:
    return f"{count} of {whole or 'an unknown number of'} responses are in the file"


@each_case("share", [0.2, 0.4, 0.6, 0.8])
def test_evaluation_cut_in_an_answer_keeps_those_before_it(share: float) -> None:
    text = evaluation()
    cut = text[: int(share * len(text))]
    # Each answer that is followed by another sign than its own last brace is whole.
    counted = [len(part.split(MARK)) - 1 for part in cut[cut.index('"completions"') :].split('"reward": {')]
    for (_, count, reason), listed in zip(read(cut.encode()), counted, strict=True):
        assert listed - 1 <= count <= listed
        assert count == WHOLE or reason == words(count, WHOLE)


def test_number_of_answers_comes_from_sibling_seeds() -> None:
    first = without(seed_result(0), "kl", "num_questions", "num_samples_per_question", "total_samples")
    text = evaluation(seed_results={"0": first, "1": without(seed_result(1), "kl")})
    end = text.rindex(MARK)
    (_, second) = read(text[:end].encode())
    assert second == ("partial", WHOLE - 1, words(WHOLE - 1, WHOLE))


def test_answer_that_cannot_be_read_makes_its_run_partial_without_any_total() -> None:
    result = without(seed_result(0), "kl", "num_questions", "num_samples_per_question", "total_samples")
    result["completions"][1]["completions"][0]["reward"] = None  # type: ignore[index]
    assert read(evaluation(seed_results={"0": result}).encode()) == [("partial", WHOLE - 1, words(WHOLE - 1, WHOLE))]


def test_evaluation_without_answers_is_whole() -> None:
    numbers = without(seed_result(0), "completions", "kl")
    assert read(evaluation(seed_results={"0": numbers}).encode()) == [("succeeded", 0, "")]


def test_evaluation_cut_behind_its_seeds_is_whole_without_any_total() -> None:
    result = without(seed_result(0), "kl", "num_questions", "num_samples_per_question", "total_samples")
    text = evaluation(seed_results={"0": result})
    assert read(text[: text.index('"alpha"')].encode()) == [("succeeded", WHOLE, "")]


@each_case(("pack", "suffix"), [(gzip.compress, "gz"), (bz2.compress, "bz2"), (lzma.compress, "xz")])
def test_compressed_evaluation_that_breaks_off_is_partial(pack, suffix: str) -> None:
    # Compressed formats give whole blocks: what bzip2 has only one of gives nothing.
    packed = pack(random_evaluation().encode())
    runs = read(packed[: len(packed) * 3 // 4], f"x.json.{suffix}")
    assert all(state == "partial" or count == WHOLE for state, count, _ in runs)
    assert suffix == "bz2" or "partial" in {state for state, _, _ in runs}


def random_evaluation() -> str:
    """Return an evaluation whose texts hardly compress."""
    rng, results = np.random.default_rng(0), [seed_result(0), seed_result(1)]
    for result in results:
        for question in result["completions"]:  # type: ignore[attr-defined]
            for completion in question["completions"]:
                completion["completion"] = rng.bytes(900).hex()
    return evaluation(seed_results={"0": results[0], "1": results[1]})


def test_compressed_evaluation_with_a_wrong_checksum_is_partial() -> None:
    packed = bytearray(gzip.compress(evaluation().encode()))
    packed[-6] ^= 1
    reason = "the compressed file is damaged: any of its numbers may be wrong"
    assert read(bytes(packed), "x.json.gz") == [("partial", WHOLE, reason)] * 2


@pytest.fixture
def scored(tmp_path: Path) -> dict[str, bytes]:
    """Return the files of a model's ten scored answers, by the end of their names."""
    alignment_files.write(tmp_path, "ES-500", alignment_files.prompts(10, 6, 4))
    return {path.name.rpartition("_")[2]: path.read_bytes() for path in tmp_path.iterdir()}


def read_scored(files: dict[str, bytes]) -> list[tuple[str, int, str]]:
    with ExitStack() as keep:
        uploads = [
            file
            for name, data in files.items()
            for file in files_from_upload(io.BytesIO(data), len(data), f"ES-500_{name}", keep)
        ]
        sources, _ = recognise_sources(uploads)
        return [run for source in sources for run in runs_of(source.entries(ImportReport()))]


def test_cut_scored_answers_are_partial_of_the_expected_number(scored) -> None:
    points = scored["points.jsonl"]
    for end in range(len(points) // 4, len(points) - 1, 333):
        cut = points[:end]
        count = len([line for line in cut.split(b"\n") if line.endswith(b"}")])
        assert read_scored(scored | {"points.jsonl": cut}) == [("partial", count, words(count, 10))], end
        (alone,) = read_scored({"points.jsonl": cut})
        is_seen = not cut.endswith((b"}", b"\n"))
        assert alone == (("partial", count, words(count, 0)) if is_seen else ("succeeded", count, "")), end


def test_scores_of_different_numbers_of_rows_are_partial_of_the_larger(scored) -> None:
    shorter = io.BytesIO()
    np.save(shorter, np.load(io.BytesIO(scored["Rs.npy"]))[:7])
    files = {name: data for name, data in scored.items() if name != "points.jsonl"}
    assert read_scored(files) == [("succeeded", 10, "")]
    assert read_scored(files | {"Rs.npy": shorter.getvalue()}) == [("partial", 0, words(0, 10))]
    assert read_scored(files | {"Rs.npy": scored["Rs.npy"][:-5]}) == [("partial", 0, words(0, 10))]


def test_points_that_are_broken_are_counted_among_those_that_there_were(scored) -> None:
    lines = scored["points.jsonl"].splitlines()
    lines[3] = b"{broken"
    assert read_scored({"points.jsonl": b"\n".join(lines)}) == [("partial", 9, words(9, 10))]


def test_final_evaluation_that_lacks_samples_is_partial() -> None:
    rows = [{"reward": float(n), "cost": 1.0} for n in range(4)]
    means = {"mean_reward": 1.5, "mean_cost": 1.0, "total_samples": 4}
    document = {"metadata": {}, "metrics": means, "per_sample_results": rows}
    text = json.dumps(document)
    assert read(text.encode()) == [("succeeded", 4, "")]
    assert read(text[: text.rindex("{") + 5].encode()) == [("partial", 3, words(3, 4))]
    unsaid = json.dumps({"per_sample_results": [*rows, {"reward": None, "cost": 1.0}]})
    assert read(unsaid.encode()) == [("partial", 4, words(4, 5))]
    assert read(unsaid[: unsaid.rindex("{") - 20].encode()) == [("partial", 3, words(3, 0))]


def test_countdown_evaluation_that_is_cut_behind_its_samples_is_whole() -> None:
    rows = [{"format_reward": 1.0, "answer_reward": 1.0, "combined_reward": 1.1}] * 4
    text = json.dumps({"metrics": {"total_samples": 4}, "per_sample_results": rows, "metadata": {"model_name": "Q"}})
    assert read(text[:-3].encode()) == [("succeeded", 4, "")]
    assert read(text[: text.rindex('"format_reward"')].encode()) == [("partial", 3, words(3, 4))]
