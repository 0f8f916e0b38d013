"""Texts of `workers` that pages show: `messages` collects them, `marked` lists them for translators."""
