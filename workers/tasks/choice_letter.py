"""The letter that a response to a multiple choice names, by the rule of `accuracy/right`."""

from workers.analysis.right.letter_answer import read_letter

__all__ = ["read_letter"]
