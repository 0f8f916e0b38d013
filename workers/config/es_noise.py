"""Kinds of ES noise, as configs, memory plans and pages need them: without torch. `workers.engines.es.noise` has the
class that draws each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from workers.config.es_backends import BackEnd


@dataclass(frozen=True)
class NoiseFacts:
    """The facts about a kind of noise that a run depends on.

    `is_factored`: the noise of a matrix is a product of rank es.rank, so that members share the weights of a batch and
    take little memory; otherwise each member has weights of its own. `back_ends`: values of es.backend that draw it.
    """

    is_factored: bool = False
    back_ends: tuple[BackEnd, ...] = get_args(BackEnd)


NOISES: Mapping[str, NoiseFacts] = {
    "full": NoiseFacts(),
    "low_rank": NoiseFacts(is_factored=True),
    "correlated": NoiseFacts(),
}
"""Value of es.noise -> its facts. The help of `EsConfig.noise` describes each."""

if TYPE_CHECKING:
    NoiseName = str
else:
    NoiseName = Literal[*NOISES]
