"""Prints the module in which translators find the words of `workers`:  python -m runs.words_of_workers"""

import sys

from runs.words_of_workers import module

sys.stdout.write(module())
