"""Presets on a cluster: whether it has the hardware that a config needs, and the config adapted to what it has."""
