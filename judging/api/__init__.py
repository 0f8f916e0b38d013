"""The REST API of judging: tournaments, judges, boards, and judgments in and out.

It hangs on the one router that runs' operations hang on, which so holds all of the API. `esweb.api` mounts it.
"""

from judging.api import boards, files, gold, invitations, judges, rubrics, tournaments
from runs.api import router

__all__ = ["boards", "files", "gold", "invitations", "judges", "router", "rubrics", "tournaments"]
