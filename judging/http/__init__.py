"""Look up the rows that an address names, for pages and for the API; whoever may not see one gets a 404."""

from judging.http.lookup import (
    judge_at,
    manageable_tournament,
    own_tournament,
    the_assignment,
    the_assignments,
    the_gold_set,
    the_judge,
    the_rubric,
    the_tournament,
    visible_tournament,
)

__all__ = [
    "judge_at",
    "manageable_tournament",
    "own_tournament",
    "the_assignment",
    "the_assignments",
    "the_gold_set",
    "the_judge",
    "the_rubric",
    "the_tournament",
    "visible_tournament",
]
