"""Language models as classes of our own, which need none of transformers' modelling code."""

from workers.models.native.model import NativeModel, load_native

__all__ = ["NativeModel", "load_native"]
