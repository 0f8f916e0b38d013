"""Hostile files: reading always ends, and only values that fit a column reach the database."""

from __future__ import annotations

import copy
import io
import json
import random
from contextlib import ExitStack

from runs.importing import File, files_from_path
from runs.importing.detect_format import recognise_sources
from runs.importing.files import window
from runs.importing.hyperparameters import config_of
from runs.importing.records import ImportReport
from runs.importing.run_names import name_of, setting_of
from runs.ingest import refusal
from runs.models import Response, Run
from tests.cases import each_case
from tests.runs.importing.event_file_writer import event, scalar, version
from tests.runs.importing.sample_logs import ENDED, HEADER, iteration
from tests.runs.importing.test_documents import evaluation
from tests.runs.importing.test_store import bring_in
from workers.records import Line

ROUNDS = 150
ES = (HEADER.format(seed=0) + "".join(iteration(i) for i in range(1, 5)) + ENDED).encode()
TRL = b"\r 5%|# | 1/20 [00:01<00:09]\r{'loss': 0.5, 'reward': -1.0, 'kl': nan}\n" * 5
EVENTS = version() + b"".join(event(i, scalar("train/loss", 1.0)) for i in range(10))
PIECES = (
    b"nan",
    b"\n",
    b"\r",
    b"{'loss'",
    b"}",
    b"[",
    b"1e999",
    b"-",
    b'"',
    b"Iteration 3/",
    b"9" * 30,
    b"\x00",
    b"\xff",
)
ODD = (None, True, -1, 10**30, 10**400, float("nan"), float("inf"), "", "\x00", "\ud800", [], {}, [[]], {"a": "b"}, "5")


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return the bytes with some removed, inserted, doubled or changed."""
    out = bytearray(data)
    for _ in range(chance.choice((1, 3, 20))):
        at = chance.randrange(len(out) + 1)
        change = chance.randrange(4)
        if change == 0:
            del out[at : at + chance.randrange(200)]
        elif change == 1:
            out[at:at] = chance.choice(PIECES)
        elif change == 2:
            out[at:at] = out[: chance.randrange(300)]
        else:
            out[at : at + 1] = bytes([chance.randrange(256)])
    return bytes(out)


def shaken(value: object, chance: random.Random) -> object:
    """JSON with some of its parts replaced by others."""
    if chance.random() < 0.04:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {key: shaken(inner, chance) for key, inner in value.items() if chance.random() > 0.02}
    return [shaken(inner, chance) for inner in value] if isinstance(value, list) else value


def check(data: bytes) -> None:
    """Read a file to its end, and check everything that would be stored."""
    report = ImportReport()
    file = File("a", "a", len(data), window(io.BytesIO(data), 0, len(data)))
    for source in recognise_sources([file])[0]:
        entries = list(source.entries(report))
        for run in {id(entry.run): entry.run for entry in entries}.values():
            config = config_of(run.stored_method, run.settings)
            assert "\\u0000" not in json.dumps(config, allow_nan=False)
            assert len(name_of(run, config, "a")) <= 200
            assert len(setting_of(run, config)) <= 100
            assert len(run.method) <= 20
        assert [refusal(Line(0, 0.0, entry.record)) for entry in entries if entry.record] == [None] * sum(
            entry.record is not None for entry in entries
        )


TABLE = b"run,seed,step,total_steps,_timestamp,a,b\n" + b'x,0,1,9,1700000000,"0,5","q\n9,1,2"\ny,1,1,9,1,2.5,3\n' * 3
CHART = b'"Step","a - r","a - r__MIN","a - r__MAX","es s0 - r"\n' + b'1,1,1,"1,5",2\n' * 5


@each_case(
    "data",
    [ES, TRL, EVENTS, json.dumps(evaluation()).encode(), TABLE, CHART],
    ids=["ES", "TRL", "TB", "JSON", "table", "chart"],
)
def test_bytes_that_went_wrong_are_read_to_the_end(data: bytes) -> None:
    chance = random.Random(7)
    for _ in range(ROUNDS):
        check(mutated(data, chance))


def test_documents_with_anything_in_any_place_are_read_to_the_end() -> None:
    chance = random.Random(7)
    for _ in range(2 * ROUNDS):
        check(json.dumps(shaken(copy.deepcopy(evaluation()), chance)).encode())


def test_unstorable_values_are_replaced_and_others_stored(ada, tmp_path, runs_dir) -> None:
    document = evaluation(config={"name\x00": "a\x00b", "n": 10**400, "x": float("nan")})
    completion = document["seed_results"]["0"]["completions"][0]["completions"][0]
    completion |= {"completion": "half \ud800 and \x00", "reward": float("nan")}
    (tmp_path / "e.json").write_text(json.dumps(document))
    imported = bring_in(tmp_path / "e.json", ada)
    assert [refusal.reason for refusal in imported.refused] == []
    assert Run.objects.count() == 2
    texts = Response.objects.filter(text__startswith="half").values_list("text", "reward")
    assert [(text, str(reward)) for text, reward in texts] == [("half \ufffd and \ufffd", "nan")]


def test_folder_that_vanishes_during_reading_is_reported(ada, tmp_path, runs_dir) -> None:
    (tmp_path / "a.log").write_bytes(ES)
    with ExitStack() as keep:
        (file,) = files_from_path(tmp_path / "a.log", keep)
        (tmp_path / "a.log").unlink()
        _, (refused,) = recognise_sources([file])
    assert refused.reason == "cannot be read: No such file or directory"
