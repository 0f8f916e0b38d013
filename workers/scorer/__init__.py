"""Reward and cost of an answer: models behind an HTTP service, the client that asks it, and tiny ones in the process.

`client` and `embedded` are light: a training, or the site, imports them without torch.
"""
