"""The study of the detectors' honesty: runs of known character, their truth from labels, and what the detectors say."""
