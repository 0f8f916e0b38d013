"""Detect that a training raised its reward by cheating: numbers and texts of evaluations go in, detections come out.

An evaluation is compared with the model before training where its responses are known, else with fixed limits. Each
detector tests a hypothesis that honest runs satisfy; `budget` bounds the false alarms of a whole run, and `thresholds`
explains each detector.
"""

from workers.analysis.detectors.budget import ERROR, level
from workers.analysis.detectors.detection import Detection
from workers.analysis.detectors.evaluation import Evaluation, Peer
from workers.analysis.detectors.facts import EvaluatedResponse, Facts, facts_of
from workers.analysis.detectors.kl import REFERENCES, KlReference
from workers.analysis.detectors.matching import MIN_SHARED, shared_prompts
from workers.analysis.detectors.reach import MAX_NUMBER, can_fire, last_number
from workers.analysis.detectors.rules import detect, judge
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
    "ERROR",
    "MAX_NUMBER",
    "MIN_SHARED",
    "REFERENCES",
    "Detection",
    "Detector",
    "EvaluatedResponse",
    "Evaluation",
    "Facts",
    "KlReference",
    "Peer",
    "ThresholdError",
    "Thresholds",
    "can_fire",
    "detect",
    "facts_of",
    "judge",
    "last_number",
    "level",
    "read_thresholds",
    "shared_prompts",
]
