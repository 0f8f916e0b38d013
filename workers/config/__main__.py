"""Prints the reference of run.json as Markdown:  python -m workers.config"""

import sys

from workers.config.reference import reference

sys.stdout.write(reference())
