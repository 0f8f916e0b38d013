"""Look up the rows that an address names, for pages and for the API; a caller who may not see a row gets a 404."""

from judging.http.lookup import (
    get_assignment,
    get_gold_set,
    get_judge,
    get_rubric,
    get_tournament,
    judge_at,
    manageable_tournament,
    own_tournament,
    visible_assignments,
    visible_tournament,
)

__all__ = [
    "get_assignment",
    "get_gold_set",
    "get_judge",
    "get_rubric",
    "get_tournament",
    "judge_at",
    "manageable_tournament",
    "own_tournament",
    "visible_assignments",
    "visible_tournament",
]
