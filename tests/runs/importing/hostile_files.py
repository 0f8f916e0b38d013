"""Files that make a careless reader take time quadratic in their size: every kind of source, with units that repeat."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator

from runs.importing import File
from runs.importing.detect_format import recognise_sources
from runs.importing.files import window
from runs.importing.readers import (
    countdown_results,
    evaluations,
    event_files,
    final_results,
    reports,
    scored_responses,
    tables,
    trainer_log,
    trainer_state,
)
from runs.importing.records import ImportReport
from runs.importing.run_folders.assemble import RunFolder
from runs.importing.source_kinds import TEXT
from runs.models import RUN_FOLDER
from tests.runs.importing.event_file_writer import event, nested, record, scalar, tensor, varint, version
from tests.runs.importing.sample_logs import HEADER

TEXT_UNITS = (
    "a", "1", " ", "_", "-", "\n", "\r", "\r\n", " \n", "\x00", "\x00\n", "\x1b[", "\u00e9", "\ufeff",
    "(", ")", "[", "]", "{", "}", "'", '"', ",", ":", "=", "|", "/", "\\", "%",
    "a ", "a.", "a: ", "a=", "1,", "1,111", "1.", "1e", "f(", "f(1,", "f((", "([1", ") ", "x\n", "{}\n", "{'a': ",
    "{'a': [", "'a': '", "'a': a(", "{'kl': 1}", "}{'", "{{{{\n",
    "Config(", "Config(a=", "Config(a=)  ", "Namespace(a='", "Iteration ", "Iteration 1", "Iteration 1, ",
    "Iteration 1/1 ", "Iteration #, a: 1\n", "[Eval] Step 1", "[Eval] Step #: a: 1\n", "GPU Memory: 1", "1%|#| 1/1 [",
    "word ", "Training complete in 1 ", "Error: #\n", "Traceback (most recent call last)\nError\n", "a.Error: ",
    "[1/1]\n  Prompt: a\n", "  Completion: a\n", "seed: #\nIteration 1, a: 1\n",
    " - a:1", "; a: 1", "step:# - a:1\n", "Seed #; avg reward: 1; normalized reward: 1\n", "a -- eval a: 1 --\n",
    "=== Epoch 1; Iteration # ===\n", "a.b=1 ", "'adv_estimator': ", "  a: 1\n", "\ta: 1\n",
)  # fmt: skip
JSON_UNITS = (
    '"#": 1, ', '"#": {"a": #}, ', '{"a": #}, ', "[], ", "[", '{"a":', '{"a": [', "]", "}", '"', '\\"', "(", ",", " ",
    "\n", "1", "-", "0.", "1e", "null,", '"((((#": 1, ', '"#": [{"completions": [1]}], ', "NaN, ",
)  # fmt: skip
"""In a unit, # is the number of the repetition."""
SEED = '{"completions": [{"question": "a", "completions": [{"completion": "b", "reward": 1}]}], "reward": {"mean": 1}'
SAMPLE = '{"reward": 1, "cost": 1, "format_reward": 1, "answer_reward": 1, "combined_reward": 1}'
LONG_NAME = "n" * 2000
RECORD = '{"seq":0,"t":1,"kind":"status","phase":"training"}\n'
"""The beginning of a file of records of our own, which are recognised by the name of the file as well."""
HEADS: dict[str, tuple[str, ...]] = {
    TEXT: ("", HEADER.format(seed=0), "Iteration 1/9, a: 1, ", "Iteration 1,", "{'loss': 1, ", "Namespace(",
             "[Eval Completions - Step 1]\n  [1/2]\n  Prompt: a\n  Generated: ", "Training complete", "GPU Memory: ",
             "1%|", "=== Epoch 1; Iteration 1 ===\nMean reward: ", "step:1 - ", "actor_rollout_ref.",
             "======= ES Step 0 / 9 =======\nMean fitness: 1, ", "Mean fitness: 1; std fitness: 1\n"),
    tables.KIND: ("step,a\n1,2\n", "run,step,a\nx,1,2\ny,1,2\nx,2,",
                  '{"step": 1, "a": 1}\n{"step": 2, "a": {', "step\t" + "a\t" * 50),
    trainer_log.KIND: ('{"a": 1, "global_step/max_steps": "1/2"}\n{"a": ', '{"global_step/max_steps": "1/2", "a": '),
    trainer_state.KIND: ('{"log_history": [{"step": 1, "loss": 1}, ', '{"log_history": [{"step": 1}], "a": '),
    evaluations.KIND: (f'{{"seed_results": {{"0": {SEED}}}, ',
                       f'{{"config": {{}}, "seed_results": {{"{LONG_NAME}": {SEED}, ',
                       '{"seed_results": {"0": {"completions": [', '{"seed_results": {}, "config": {'),
    final_results.KIND: (f'{{"per_sample_results": [{SAMPLE}, ', '{"metrics": {"mean_reward": 1, "mean_cost": 1, '),
    countdown_results.KIND: (f'{{"metadata": {{}}, "per_sample_results": [{SAMPLE}, ',),
    scored_responses.KIND: ('{"prompt": "a", "response": "b", "reward": 1, "cost": 1}\n',
                            '{"counts": {}, "R_mean": 1, "C_mean": 1, ', '{"prompt":"'),
    reports.KIND: ('[{"mean_a": 1}, ', '[{"mean_a": 1, '),
    RUN_FOLDER: (RECORD, f'{RECORD}{{"seq":1,"t":1,"kind":"metric","step":1,"values":{{"a":', RECORD * 9),
}  # fmt: skip
"""Kind of source -> beginnings of files of that kind, which a unit follows."""
BINARY: dict[str, dict[str, Callable[[int], bytes]]] = {
    event_files.KIND: {
        "values": lambda n: version() + b"".join(event(i, scalar(f"a{i}", 1.0)) for i in range(n // 80)),
        "tags": lambda n: version() + event(1, *(scalar("t" * 100 + str(i), 1.0) for i in range(n // 120))),
        "bytes": lambda n: version() + record(b"\x00" * n),
        "keys": lambda n: version() + record(b"\x2a\x00" * (n // 2)),
        "varints": lambda n: version() + event(1, tensor("a", nested(7, varint(1) * n))),
        "halves": lambda n: version() + event(1, tensor("a", varint(8) + varint(19) + nested(13, varint(1) * n))),
        "broken": lambda n: version() + (struct.pack("<Q", 1) + record(b"")[8:] + b"xxxxx") * (n // 20),
    },
    scored_responses.KIND: {
        "header": lambda n: b"\x93NUMPY\x01\x00" + struct.pack("<H", min(n, 65_000)) + b"(" * min(n, 65_000),
        "signs": lambda n: b"\x93NUMPY\x01\x00" + struct.pack("<H", min(n, 9_000)) + b"-" * min(n, 9_000),
        "empty texts": lambda n: numpy_file("<U0", n, b""),
        "halves": lambda n: numpy_file("<f2", n // 2, b"\x00" * (2 * (n // 2))),
    },
}
"""Kind of source -> its hostile files that are no text, by name: number of bytes -> a file of about so many."""


def numpy_file(dtype: str, count: int, data: bytes) -> bytes:
    """Return an array file of this header and data."""
    header = repr({"descr": dtype, "fortran_order": False, "shape": (count,)}).encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def repeated(unit: str, size: int) -> str:
    """Return the unit again and again, about so many characters, with # replaced by the number of the repetition."""
    if "#" not in unit:
        return unit * (size // len(unit))
    count = size // (len(unit) + 4)
    parts = unit.split("#")
    return "".join(str(number).join(parts) for number in range(count))


def hostile_files(size: int) -> Iterator[tuple[str, str, bytes]]:
    """Yield (kind, name, content) of files of about `size` bytes."""
    for kind, heads in HEADS.items():
        for head in heads:
            for unit in JSON_UNITS if head.startswith(('{"', "[{")) else TEXT_UNITS:
                yield kind, f"{head[:60]!r} + {unit!r}", (head + repeated(unit, size)).encode()
    for kind, files in BINARY.items():
        for name, make in files.items():
            yield kind, name, make(size)


def read_all(data: bytes) -> int:
    """Read a file to its end, and return the number of its entries."""
    name = "records.0.jsonl" if data.startswith(RECORD.encode()) else "m_Rs.npy"
    file = File(name, "m", len(data), window(io.BytesIO(data), 0, len(data)))
    sources, _ = recognise_sources([file])
    return sum(
        1
        for source in sources
        for _ in (source.pieces if isinstance(source, RunFolder) else source.entries)(ImportReport())
    )
