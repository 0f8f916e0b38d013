"""Geometry of the changes δ = tuned − base of the weights: sizes, ranks, angles and subspaces, each with its null.

δ is formed in float32 and its sums in float64, from slices of memory-mapped files.
"""

from workers.probes.geometry.cosine import cosine
from workers.probes.geometry.magnitude import magnitude
from workers.probes.geometry.overlap import overlap
from workers.probes.geometry.spectrum import spectrum

__all__ = ["cosine", "magnitude", "overlap", "spectrum"]
