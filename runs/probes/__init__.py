"""Results of probes: what the weights of trained models have in common with chance, tensor by tensor and as curves."""

from runs.probes.measures import measure_of, place, probe_title
from runs.probes.results import READS_RESPONSES, Subject, newest, split_subject, subjects_of, with_whole
from runs.probes.tables import band_text, marked_value

__all__ = [
    "READS_RESPONSES",
    "Subject",
    "band_text",
    "marked_value",
    "measure_of",
    "newest",
    "place",
    "probe_title",
    "split_subject",
    "subjects_of",
    "with_whole",
]
