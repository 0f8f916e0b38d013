"""Load exported runs of esweb as pandas data frames.

    python load.py [FOLDER]            print the tables and their sizes
    import load; load.read(FOLDER)     return {"runs": …, "metrics": …, "responses": …, …}

Needs pandas, and nothing of esweb. Each table has the columns run (its uid), attempt and epoch; README.md explains the
other columns. Sort by attempt, epoch and seq: where a step occurs twice, the last row counts (`latest`).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

ATTEMPT = re.compile(r"esweb-(\w+)-a(\d+)")
RECORDS = re.compile(r"records\.(\d+)\.jsonl")
NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
TABLES = (
    "runs", "attempts", "events", "metrics", "axes", "responses", "populations", "engines", "checkpoints", "probes",
    "attacks", "environments", "alerts", "statuses", "scores",
)  # fmt: skip
PARTS = {"population": ("populations", "members"), "engines": ("engines", "engines"), "probe": ("probes", "values")}
"""Kind of a record with several parts -> its table, and the field with the parts, of which each is a row."""
Row = dict[str, Any]


def read(folder: str | Path = ".") -> dict[str, pd.DataFrame]:
    """Return the tables of all attempts below a folder. A table without rows is empty."""
    rows: dict[str, list[Row]] = {name: [] for name in TABLES}
    for directory, run, attempt in attempts(Path(folder)):
        _read_site(directory, run, attempt, rows)
        prompts: dict[str, Row] = {}
        for path, epoch in record_files(directory):
            for line in json_lines(path):
                _add_record(line, {"run": run, "attempt": attempt, "epoch": epoch}, prompts, rows)
        for score in json_lines(directory / "scores.jsonl"):
            rows["scores"].append({"run": run, "attempt": attempt, **score})
    return {name: pd.DataFrame(table) for name, table in rows.items()}


def latest(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return the last row of each value of these columns: `latest(metrics, "run", "key", "step")`."""
    ordered = table.sort_values(["attempt", "epoch", "seq"], kind="stable")
    return ordered.drop_duplicates(list(columns), keep="last")


def attempts(folder: Path) -> list[tuple[Path, str, int]]:
    """Return (folder, uid of the run, number) of all attempts below a folder, in their order."""
    folders = [path for path in folder.rglob("esweb-*-a*") if path.is_dir() and ATTEMPT.fullmatch(path.name)]
    names = [(path, ATTEMPT.fullmatch(path.name)) for path in folders]
    return sorted(
        ((path, name[1], int(name[2])) for path, name in names if name is not None), key=lambda item: item[1:]
    )


def record_files(directory: Path) -> list[tuple[Path, int]]:
    """Return (file, epoch) of an attempt's records, in their order."""
    names = [(path, RECORDS.fullmatch(path.name)) for path in directory.iterdir()]
    return sorted(((path, int(name[1])) for path, name in names if name is not None), key=lambda item: item[1])


def json_lines(path: Path) -> Iterator[Row]:
    """Yield the objects of a file, one a line. A missing file has none, and a cut last line is left out."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            if line.endswith("\n"):
                yield json.loads(line)


def _read_site(directory: Path, run: str, attempt: int, rows: dict[str, list[Row]]) -> None:
    path = directory / "site.json"
    site = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"run": {}, "attempt": {}, "events": []}
    config = directory / "run.json"
    site["run"]["config"] = json.loads(config.read_text(encoding="utf-8")) if config.exists() else {}
    if all(known["run"] != run for known in rows["runs"]):
        rows["runs"].append({"run": run, **{name: value for name, value in site["run"].items() if name != "uid"}})
    rows["attempts"].append({"run": run, "attempt": attempt, **site["attempt"]})
    rows["events"] += [{"run": run, "attempt": attempt, **event} for event in site["events"]]


def _add_record(line: Row, place: Row, prompts: dict[str, Row], rows: dict[str, list[Row]]) -> None:
    kind = line.pop("kind")
    step: Row = {name: line[name] for name in ("seq", "t", "step") if name in line}
    if kind == "metric":
        rows["metrics"] += [{**place, **step, "key": k, "value": _number(v)} for k, v in line["values"].items()]
        rows["axes"].append({**place, **step, **{k: _number(v) for k, v in line.get("axes", {}).items()}})
    elif kind == "response":
        prompt_id = line["prompt_id"]
        if "prompt" in line:
            prompts[prompt_id] = {name: line.get(name) for name in ("prompt", "target", "categories")}
        rows["responses"].append({**place, **prompts.get(prompt_id, {}), **line, "reward": _number(line["reward"])})
    elif kind in PARTS:
        name, parts = PARTS[kind]
        head = {field: value for field, value in line.items() if field != parts}
        rows[name] += [{**place, **head, **{k: _number(v) for k, v in part.items()}} for part in line[parts]]
    else:
        name = {"status": "statuses"}.get(kind, f"{kind}s")
        rows[name].append({**place, **line})


def _number(value: Any) -> Any:
    """Return NaN and the infinities as numbers."""
    return NUMBERS.get(value, value) if isinstance(value, str) else value


if __name__ == "__main__":
    for name, table in read(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent).items():
        print(f"{name:14} {len(table):8} rows   {', '.join(map(str, table.columns))}")
