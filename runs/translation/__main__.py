"""Print the module in which translators find the words of `workers`: python -m runs.translation"""

import sys

from runs.translation.messages import module

sys.stdout.write(module())
