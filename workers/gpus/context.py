"""The CUDA context of a training process, created while its libraries are imported.

Creating it takes the driver up to a second, importing torch and transformers takes three; the driver needs no Python.
Torch uses the context of the device that it finds, and reports what went wrong if there is none.
"""

from __future__ import annotations

import ctypes
from threading import Thread

LIBRARY = "libcuda.so.1"
SUCCESS = 0


def begin_context() -> Thread:
    """Begin to create the context of the first GPU that this process sees. Return the thread that does.

    On a machine without a driver, and for a process that sees no GPU, it does nothing. A process that will use another
    GPU must not call it: the context takes memory.
    """
    thread = Thread(target=_retain_context, name="cuda-context", daemon=True)
    thread.start()
    return thread


def _retain_context() -> None:
    try:
        driver = ctypes.CDLL(LIBRARY)
    except OSError:
        return
    device, context = ctypes.c_int(), ctypes.c_void_p()
    if driver.cuInit(0) == SUCCESS and driver.cuDeviceGet(ctypes.byref(device), 0) == SUCCESS:
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
