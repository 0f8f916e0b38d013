"""What a rule of a detector judges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from workers.analysis.detectors.detection import Detection
from workers.analysis.detectors.evaluation import Evaluation, Peer
from workers.analysis.detectors.facts import EvaluatedResponse
from workers.analysis.detectors.matching import Comparison
from workers.analysis.detectors.thresholds import Detector

Trait: TypeAlias = Callable[[EvaluatedResponse], bool | None]


@dataclass(frozen=True)
class Case:
    """Input of a rule: an evaluation beside its base and its peers, and the detector with its threshold and level."""

    comparison: Comparison
    peers: Sequence[Peer]
    detector: Detector
    threshold: float
    level: float

    @property
    def evaluation(self) -> Evaluation:
        return self.comparison.evaluation


Rule: TypeAlias = Callable[[Case], Detection | None]
