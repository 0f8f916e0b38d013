"""Kinds of runs. A run has the kind of its method; an imported or external run has that kind with what differs.

To add a kind, declare it in a module of its own and list it in KINDS, and its method in `workers.config.methods`.
"""

from __future__ import annotations

from runs.kinds.audit import AUDIT
from runs.kinds.evaluation import EVALUATION
from runs.kinds.external import EXTERNAL, external
from runs.kinds.imported import IMPORTED, imported
from runs.kinds.kind import LAUNCHED, Examination, Kind, Origin
from runs.kinds.probe import PROBE
from runs.kinds.scorer import SCORER
from runs.kinds.training import TRAINING
from workers.config.methods import EXAMINABLE_METHODS

__all__ = [
    "AUDIT",
    "EVALUATION",
    "EXAMINABLE_METHODS",
    "EXAMINATIONS",
    "EXTERNAL",
    "IMPORTED",
    "KINDS",
    "KIND_ESSENTIAL",
    "LAUNCHED",
    "ORIGINS",
    "OTHER_THAN_EVALUATIONS",
    "PROBE",
    "SCORER",
    "TRAINING",
    "UNLISTED",
    "UNLISTED_METHODS",
    "Examination",
    "Kind",
    "Origin",
    "kind_of",
]

KINDS = (TRAINING, EVALUATION, PROBE, AUDIT, SCORER)
"""All kinds, in the order in which pages list them."""
ORIGINS = (LAUNCHED, IMPORTED, EXTERNAL)
KIND_ESSENTIAL = frozenset(setting for kind in KINDS for setting in kind.essential)
EXAMINATIONS = tuple(kind.examination for kind in KINDS if kind.examination is not None)
UNLISTED = tuple(kind for kind in KINDS if not kind.is_listed)
UNLISTED_METHODS = tuple(method for kind in UNLISTED for method in kind.methods)
OTHER_THAN_EVALUATIONS = tuple(method for kind in KINDS if not kind.lists_as_evaluation for method in kind.methods)
"""Methods of children that no page lists as evaluations of their parent."""
_BY_METHOD = {method: kind for kind in KINDS for method in kind.methods}
_BY_ORIGIN = {
    LAUNCHED: {kind: kind for kind in KINDS},
    IMPORTED: {kind: imported(kind) for kind in KINDS},
    EXTERNAL: {kind: external(kind) for kind in KINDS},
}


def kind_of(method: str, origin: Origin = LAUNCHED) -> Kind:
    """Return the kind of a run by its method and origin: a training for a method that the project does not have."""
    return _BY_ORIGIN[origin][_BY_METHOD.get(method, TRAINING)]
