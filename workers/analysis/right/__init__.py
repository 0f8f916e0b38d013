"""Whether a response is right: the answer that it commits to, compared with the expected one.

Texts go in, verdicts come out, without a model. The codebook `docs/studies/labels/codebook.md` is the meaning of right.
"""

from workers.analysis.right.mention import mentions
from workers.analysis.right.verdict import RIGHT_PART, is_equal, is_right, right_of

__all__ = ["RIGHT_PART", "is_equal", "is_right", "mentions", "right_of"]
