"""Prints the fingerprint of the code that this Python runs:  python -m workers.code"""

from workers.code import fingerprint

print(fingerprint())
