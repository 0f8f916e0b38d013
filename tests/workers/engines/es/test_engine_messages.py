"""Messages between engines: what is packed comes back, to the bit, and an update costs 16 bytes a member at most."""

from __future__ import annotations

import random
import struct
from multiprocessing.connection import Pipe

import pytest

from tests.cases import each_case
from workers.engines.es.engine_group.wire import (
    Kind,
    pack_directions,
    pack_ids,
    pack_members,
    pack_seconds,
    pack_seeds,
    receive,
    send,
    unpack_directions,
    unpack_ids,
    unpack_members,
    unpack_seconds,
    unpack_seeds,
)
from workers.engines.es.perturbation import directions
from workers.engines.es.seeds import member_seeds
from workers.models.decoder import Completion


@each_case("antithetic", [False, True])
@each_case("population", [2, 4, 30, 1000])
def test_an_update_costs_at_most_16_bytes_a_member(population: int, antithetic: bool) -> None:
    seeds = member_seeds(3, 1, population, antithetic=antithetic)
    draw = random.Random(population)
    update = directions(seeds, [draw.gauss() for _ in seeds], 5e-4)
    here, there = Pipe()
    with here, there:
        size = send(here, Kind.UPDATE, pack_directions(update))
        kind, body = receive(there)
    assert size <= 16 * population
    assert kind is Kind.UPDATE
    assert list(unpack_directions(body).items()) == list(update.items())


def test_a_dead_iteration_is_an_update_without_directions() -> None:
    assert unpack_directions(pack_directions({})) == {}


def test_seeds_of_53_bits_keep_their_sign() -> None:
    seeds = [1, -1, 2**53, -(2**53)]
    assert unpack_seeds(pack_seeds(seeds)) == seeds
    assert unpack_seeds(pack_seeds([])) == []


@pytest.mark.parametrize("ids", [[[7]], [[1, 2, 3], [4], [5, 2**31 - 1]]])
def test_prompts_round_trip(ids: list[list[int]]) -> None:
    assert unpack_ids(pack_ids(ids)) == ids


def test_answers_round_trip() -> None:
    answers = [
        [Completion([5, 6, 0], "ab", False), Completion([9], "ö \x00 😀", True)],
        [Completion([0], "", False), Completion([1, 2], "c", True)],
    ]
    assert unpack_members(pack_members(answers)) == answers


def test_batch_seconds_round_trip_with_phases() -> None:
    phases = {"noise": 0.1, "prefill": 0.2, "decode": 3.0, "update": 0.0}
    assert unpack_seconds(pack_seconds(0.25, phases)) == (0.25, phases)


def test_a_coefficient_keeps_the_bits_of_its_float32() -> None:
    draw = random.Random(1)
    update = {number: struct.unpack("<f", draw.randbytes(3) + b"\x3e")[0] for number in range(1, 200)}
    assert unpack_directions(pack_directions(update)) == update
