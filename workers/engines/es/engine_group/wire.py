"""Messages between the training process and an engine: a kind, a byte, and a body.

They travel over a pair of sockets that only these two processes hold. Seeds and coefficients are all that one engine
learns about another's weights: 8 bytes a seed and 4 a coefficient, and 4 for that of anchored weight decay. Prompts and
answers are token ids and text.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from multiprocessing.connection import Connection
from typing import Any, Literal

import numpy as np

from workers.engines.es.phases import PHASES
from workers.models.decoder import Completion

Ids = Sequence[Sequence[int]]
"""Token ids of each prompt."""
HEADER_BYTES = 4
"""The length that a `Connection` sends before a message."""
DIRECTION_BYTES = 12
"""A seed and its coefficient."""
MEMBERS_HEAD = struct.Struct("<III")
"""Members, prompts, and the bytes of the token ids that follow."""
UPDATED_BODY = struct.Struct("<2d")
"""The norm of a step, and the distance from θ₀; NaN where θ₀ is not held."""
BATCH_SECONDS = struct.Struct(f"<{1 + len(PHASES)}d")
"""Seconds that a batch took, and seconds of each phase since the engine's last batch, in the order of PHASES."""


class Kind(Enum):
    """Kinds of messages: the training process sends requests, and the engine replies in their order.

    request                                 replies
    START setup and checkpoint, JSON        READY
    CATCH_UP lineage                        HASH of the weights after the updates of the log up to it
    PROMPTS ids                             none; the requests that follow answer these prompts
    ANSWER seeds; none mean the centre      a MEMBERS for some members, as they are complete; then ANSWERED
    GENERATE `Decoding`, JSON               MEMBERS of the centre, then ANSWERED
    SCORE nothing                           SCORES: the likeliest next tokens of each prompt
    UPDATE seeds and coefficients           UPDATED: the norm of the step, and the distance from θ₀
    SAVE `Saving`, JSON                     SAVED
    HASH nothing                            HASH
    ABANDON nothing                         none; ends ANSWER or GENERATE: its ANSWERED comes without the rest
    STOP is the end of the connection.

    ERROR may come in place of any reply, and is the last message. GENERATE, SCORE, SAVE and ABANDON are for engines of
    vLLM (`workers/engines/es/vllm`): there the training process holds no weights. Other engines refuse them.
    """

    START = b"S"
    CATCH_UP = b"C"
    READY = b"R"
    PROMPTS = b"P"
    ANSWER = b"A"
    GENERATE = b"G"
    MEMBERS = b"m"
    ANSWERED = b"a"
    SCORE = b"L"
    SCORES = b"l"
    UPDATE = b"U"
    UPDATED = b"u"
    SAVE = b"V"
    SAVED = b"v"
    HASH = b"H"
    ABANDON = b"X"
    ERROR = b"E"


@dataclass(frozen=True)
class Decoding:
    """Settings of the responses of an evaluation: at most so many tokens, greedy if `temperature` is None.

    The sample of prompt i depends on `seed` and i alone.
    """

    max_new_tokens: int
    temperature: float | None = None
    seed: int = 0


@dataclass(frozen=True)
class Saving:
    """A request to write weights into a folder that exists.

    weights: cast(master) under canonical names, model.safetensors. master: the float32 master,
    master/model.safetensors, unless the weights are float32 themselves and thus hold it.
    """

    folder: str
    what: Literal["weights", "master"]


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
    count = len(body) // DIRECTION_BYTES
    coefficients = np.frombuffer(body[8 * count :], dtype="<f4").tolist()
    return dict(zip(unpack_seeds(body[: 8 * count]), coefficients, strict=True))


def pack_update(directions: Mapping[int, float], decay: float) -> bytes:
    """Encode an update, and the float32 coefficient of its decay towards θ₀ in 4 more bytes, unless it is 0."""
    return pack_directions(directions) + (np.array(decay, dtype="<f4").tobytes() if decay else b"")


def unpack_update(body: bytes) -> tuple[dict[int, float], float]:
    """Decode what `pack_update` made, to the same bits."""
    end = len(body) // DIRECTION_BYTES * DIRECTION_BYTES
    decay = float(np.frombuffer(body[end:], dtype="<f4")[0]) if len(body) > end else 0.0
    return unpack_directions(body[:end]), decay


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


def pack_members(answers: Sequence[Sequence[Completion]]) -> bytes:
    """Encode the answers [member][prompt] of one member or several."""
    flat = [answer for of_member in answers for answer in of_member]
    ids = pack_ids([answer.tokens for answer in flat])
    texts = pack_json([[answer.text, answer.clipped] for answer in flat])
    return MEMBERS_HEAD.pack(len(answers), len(answers[0]), len(ids)) + ids + texts


def unpack_members(body: bytes) -> list[list[Completion]]:
    """Decode what `pack_members` made."""
    members, prompts, size = MEMBERS_HEAD.unpack_from(body)
    start = MEMBERS_HEAD.size
    ids = unpack_ids(body[start : start + size])
    texts = json.loads(body[start + size :])
    flat = [Completion(tokens, text, clipped) for tokens, (text, clipped) in zip(ids, texts, strict=True)]
    return [flat[prompts * m : prompts * (m + 1)] for m in range(members)]


def pack_seconds(seconds: float, phases: Mapping[str, float]) -> bytes:
    """Encode the seconds that a batch took, and those of each phase."""
    return BATCH_SECONDS.pack(seconds, *(phases[name] for name in PHASES))


def unpack_seconds(body: bytes) -> tuple[float, dict[str, float]]:
    """Decode what `pack_seconds` made."""
    seconds, *phases = BATCH_SECONDS.unpack(body)
    return seconds, dict(zip(PHASES, phases, strict=True))


def pack_updated(norm: float, distance: float | None) -> bytes:
    """Encode the norm of a step, and the distance from θ₀ if θ₀ is held."""
    return UPDATED_BODY.pack(norm, math.nan if distance is None else distance)


def unpack_updated(body: bytes) -> tuple[float, float | None]:
    """Decode what `pack_updated` made."""
    norm, distance = UPDATED_BODY.unpack(body)
    return norm, None if math.isnan(distance) else distance


def pack_scores(scores: Sequence[Mapping[int, float]]) -> bytes:
    """Encode for each prompt token id -> natural logarithm of its probability as the next token."""
    return pack_json([[list(of_prompt), list(of_prompt.values())] for of_prompt in scores])


def unpack_scores(body: bytes) -> list[dict[int, float]]:
    """Decode what `pack_scores` made."""
    return [dict(zip(ids, logarithms, strict=True)) for ids, logarithms in json.loads(body)]
