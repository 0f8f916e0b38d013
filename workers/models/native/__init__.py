"""Language models as classes of our own, which need none of transformers' modelling code."""

from workers.models.native.model import NativeModel, build_native, load_native

__all__ = ["NativeModel", "build_native", "load_native"]
