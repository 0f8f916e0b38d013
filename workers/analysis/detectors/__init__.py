"""Detect that a training raised its reward by cheating: numbers and texts of evaluations go in, detections come out.

An evaluation is compared with the model before training where its responses are known, else with fixed limits and with
the other runs of its experiment. Each detector has one threshold, which `thresholds` explains.
"""

from workers.analysis.detectors.evaluation import Evaluation, Peer
from workers.analysis.detectors.facts import EvaluatedResponse, Facts, facts_of
from workers.analysis.detectors.rules import Detection, detect
from workers.analysis.detectors.thresholds import (
    DETECTORS,
    DETECTORS_BY_NAME,
    Detector,
    ThresholdError,
    Thresholds,
    read_thresholds,
)

__all__ = [
    "DETECTORS",
    "DETECTORS_BY_NAME",
    "Detection",
    "Detector",
    "EvaluatedResponse",
    "Evaluation",
    "Facts",
    "Peer",
    "ThresholdError",
    "Thresholds",
    "detect",
    "facts_of",
    "read_thresholds",
]
