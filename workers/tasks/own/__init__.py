"""A task of the user's own: a class or function in a Python file under a folder that an administrator allowed.

It runs in a process of its own, so that it may be slow, hang, print, exit or crash. `task.py` is the task as the
engines see it, `process.py` manages the process, `child.py` is its program, `contract.py` checks the results of the
user's code, and `module.py` finds and loads it. The guide for users is docs/guides/own-task.md.
"""

from workers.tasks.own.module import NoSuchTask, allowed_folders, find
from workers.tasks.own.task import OwnTask

__all__ = ["NoSuchTask", "OwnTask", "allowed_folders", "find"]
