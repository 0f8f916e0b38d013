"""The boards of tournaments: votes as they stand in the database, and what is worked out of them and kept."""

from judging.boards.reading import verdicts_in, votes_in
from judging.boards.whose import Whose

__all__ = ["Whose", "verdicts_in", "votes_in"]
