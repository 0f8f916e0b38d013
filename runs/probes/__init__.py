"""Results of probes: what the weights of trained models have in common with chance, tensor by tensor and as curves."""

from runs.probes.deviation import is_outside
from runs.probes.measures import ProbeMeasure, measure_of, place, probe_title
from runs.probes.results import READS_RESPONSES, Subject, newest, split_subject, subjects_of, with_whole

__all__ = [
    "READS_RESPONSES",
    "ProbeMeasure",
    "Subject",
    "is_outside",
    "measure_of",
    "newest",
    "place",
    "probe_title",
    "split_subject",
    "subjects_of",
    "with_whole",
]
