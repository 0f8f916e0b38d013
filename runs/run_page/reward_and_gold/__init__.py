"""Reward (the proxy) and gold measure of a run's evaluations: two charts, the changes since the base, and the API."""
