"""Benchmarks that need a GPU, and with it torch, triton and numpy alone: each is run by its own command."""
