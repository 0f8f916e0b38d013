"""Messages between the training process and an engine: a kind, a byte, and a body.

They travel over a pair of sockets that only these two processes hold. Seeds and coefficients are all that one engine
learns about another's weights: 8 bytes a seed and 4 a coefficient. Prompts and answers are token ids and text.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from enum import Enum
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from workers.engines.es.phases import PHASES
from workers.models.decoder import Completion

Ids = Sequence[Sequence[int]]
"""Token ids of each prompt."""
HEADER_BYTES = 4
"""The length that a `Connection` sends before a message."""
ANSWERS_HEAD = struct.Struct("<dII")
"""Seconds that answering took, members, prompts."""
PHASE_SECONDS = struct.Struct(f"<{len(PHASES)}d")
"""Seconds of each phase since the engine's last answers, in the order of PHASES."""


class Kind(Enum):
    """Kinds of messages. An engine sends READY, ANSWERS, HASH and ERROR; the training process the others and HASH."""

    START = b"S"
    CATCH_UP = b"C"
    READY = b"R"
    PROMPTS = b"P"
    ANSWER = b"A"
    ANSWERS = b"a"
    UPDATE = b"U"
    HASH = b"H"
    ERROR = b"E"


def send(connection: Connection, kind: Kind, body: bytes = b"") -> int:
    """Send a message. Return the bytes that it takes. Raise OSError if the other side is gone or does not listen."""
    connection.send_bytes(kind.value + body)
    return HEADER_BYTES + 1 + len(body)


def receive(connection: Connection) -> tuple[Kind, bytes]:
    """Wait for a message. Raise EOFError or OSError if the other side is gone."""
    message = connection.recv_bytes()
    return Kind(message[:1]), message[1:]


def pack_json(data: Any) -> bytes:
    """Encode plain data; floats keep every bit."""
    return json.dumps(data).encode()


def pack_seeds(seeds: Sequence[int]) -> bytes:
    """Encode members' seeds, 8 bytes each."""
    return np.array(seeds, dtype="<i8").tobytes()


def unpack_seeds(body: bytes) -> list[int]:
    """Decode what `pack_seeds` made."""
    seeds: list[int] = np.frombuffer(body, dtype="<i8").tolist()
    return seeds


def pack_directions(directions: Mapping[int, float]) -> bytes:
    """Encode an update, seed -> float32 coefficient in order, 12 bytes each."""
    return pack_seeds(list(directions)) + np.array(list(directions.values()), dtype="<f4").tobytes()


def unpack_directions(body: bytes) -> dict[int, float]:
    """Decode what `pack_directions` made, to the same bits."""
    count = len(body) // 12
    coefficients = np.frombuffer(body[8 * count :], dtype="<f4").tolist()
    return dict(zip(unpack_seeds(body[: 8 * count]), coefficients, strict=True))


def pack_ids(ids: Ids) -> bytes:
    """Encode lists of token ids: their number, their lengths, then all ids."""
    numbers = [len(ids), *map(len, ids), *(token for tokens in ids for token in tokens)]
    return np.array(numbers, dtype="<i4").tobytes()


def unpack_ids(body: bytes) -> list[list[int]]:
    """Decode what `pack_ids` made."""
    numbers = np.frombuffer(body, dtype="<i4")
    count = int(numbers[0])
    ends = np.cumsum(numbers[1 : count + 1])
    return [part.tolist() for part in np.split(numbers[count + 1 :], ends[:-1])]


def pack_answers(answers: Sequence[Sequence[Completion]], seconds: float, phases: Mapping[str, float]) -> bytes:
    """Encode the answers [member][prompt] of a batch, the seconds that they took, and the seconds of each phase."""
    flat = [answer for of_member in answers for answer in of_member]
    head = ANSWERS_HEAD.pack(seconds, len(answers), len(answers[0]))
    head += PHASE_SECONDS.pack(*(phases[name] for name in PHASES))
    ids = pack_ids([answer.tokens for answer in flat])
    texts = pack_json([[answer.text, answer.clipped] for answer in flat])
    return head + struct.pack("<I", len(ids)) + ids + texts


def unpack_answers(body: bytes) -> tuple[list[list[Completion]], float, dict[str, float]]:
    """Decode what `pack_answers` made."""
    seconds, members, prompts = ANSWERS_HEAD.unpack_from(body)
    phases = dict(zip(PHASES, PHASE_SECONDS.unpack_from(body, ANSWERS_HEAD.size), strict=True))
    start = ANSWERS_HEAD.size + PHASE_SECONDS.size
    (size,) = struct.unpack_from("<I", body, start)
    start += 4
    ids = unpack_ids(body[start : start + size])
    texts = json.loads(body[start + size :])
    flat = [Completion(tokens, text, clipped) for tokens, (text, clipped) in zip(ids, texts, strict=True)]
    return [flat[prompts * m : prompts * (m + 1)] for m in range(members)], seconds, phases
