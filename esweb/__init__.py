"""The Django project: wiring only."""

__version__ = "0.1.0"
