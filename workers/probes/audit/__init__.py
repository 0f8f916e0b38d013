"""Probe `audit`: noise that tensors of one model share, as codes make it that seed every tensor with a member's seed.

    python -m workers.probes.audit BASE TUNED

Tensors of one size then receive the same update, and others the same start of it. The cosines of the changes of all
pairs of tensors are compared with those of independent noise.
"""

from workers.probes.audit.verdict import Audit, Pair, audit, audit_probe

__all__ = ["Audit", "Pair", "audit", "audit_probe"]
