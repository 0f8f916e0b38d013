"""The program of an engine whose memory flips one bit of the master while it applies its third update."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping

import torch

from workers.engines.es.backend import DecoderBackEnd
from workers.engines.es.engine_group import program

_update, _numbers = DecoderBackEnd.update, itertools.count(1)


def update(self: DecoderBackEnd, directions: Mapping[int, float], decay: float = 0.0) -> float:
    if next(_numbers) == 3:
        self.trained.master["model.norm.weight"].view(torch.int32)[0] ^= 1
    return _update(self, directions, decay)


if __name__ == "__main__":
    DecoderBackEnd.update = update  # type: ignore[method-assign]
    sys.exit(program.main(int(sys.argv[1])))
