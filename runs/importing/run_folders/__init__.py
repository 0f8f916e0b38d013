"""Import the folders that our own trainer writes: a run with its attempts, and all that its records hold.

A folder of an attempt has `records.<epoch>.jsonl`, and usually its config, log and exit record beside it. Records are
saved by the site's own ingest, with the seq and the times that they have.
"""
