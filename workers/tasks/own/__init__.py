"""A task of the user's own: a class or function in a Python file under a folder that an administrator allowed.

It runs in a process of its own, so that it may be slow, hang, print, exit or crash. `task.py` is the task as the
engines see it, `process.py` keeps the process, `child.py` is its program, `contract.py` says what the user's code may
give, and `module.py` finds and loads it. docs/guides/own-task.md tells users.
"""

from workers.tasks.own.module import NoSuchTask, allowed_folders, find
from workers.tasks.own.task import Own

__all__ = ["NoSuchTask", "Own", "allowed_folders", "find"]
