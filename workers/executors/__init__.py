"""Executors run attempts. Each kind of cluster has a module, and all share the protocol in `base.py`."""
