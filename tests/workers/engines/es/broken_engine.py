"""The program of an engine that sends half a message, or a message of no kind, and then nothing."""

from __future__ import annotations

import os
import signal
import struct
import sys

if __name__ == "__main__":
    sends = {"half": struct.pack("!i", 1000) + b"H" * 10, "nonsense": struct.pack("!i", 2) + b"??"}
    os.write(int(sys.argv[1]), sends[os.environ["BROKEN_ENGINE_SENDS"]])
    signal.pause()
