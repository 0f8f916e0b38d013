"""Reward and cost of an answer: models behind an HTTP service, the service's client, and tiny models in the process.

`client` and `embedded` are light: a training, or the site, imports them without torch.
"""
