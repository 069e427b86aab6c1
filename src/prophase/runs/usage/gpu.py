"""GPU memory and utilisation of a process tree, through NVML if there is one.

Standard library only: the driver's library is called directly.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection
from typing import Protocol

GIB = 2**30
_MOST_PROCESSES = 256


class Gpus(Protocol):
    """What can measure the GPU use of processes."""

    def use(self, pids: Collection[int]) -> dict[str, float]:
        """Return ``gpu_memory_gib`` and ``gpu_util_pct`` of the GPUs these processes are on."""


class _ProcessInfo(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_uint),
        ("used_bytes", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


#: NVML's way to say that the driver does not report it
_NOT_TOLD = 2**64 - 1


class Nvml:
    """All GPUs of this machine."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._nvml = library
        if library.nvmlInit_v2() != 0:
            raise OSError("NVML does not start")
        count = ctypes.c_uint()
        library.nvmlDeviceGetCount_v2(ctypes.byref(count))
        self._devices = []
        for index in range(count.value):
            device = ctypes.c_void_p()
            if library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) == 0:
                self._devices.append(device)

    def use(self, pids: Collection[int]) -> dict[str, float]:
        """Return memory of the processes, and how busy the GPUs are that they use."""
        memory_bytes, busy_pct, ours = 0, 0.0, False
        for device in self._devices:
            held = self._held_bytes(device, pids)
            if held is None:
                continue
            ours = True
            memory_bytes += held
            busy = _Utilization()
            if self._nvml.nvmlDeviceGetUtilizationRates(device, ctypes.byref(busy)) == 0:
                busy_pct += busy.gpu
        return {"gpu_memory_gib": memory_bytes / GIB, "gpu_util_pct": busy_pct} if ours else {}

    def _held_bytes(self, device: ctypes.c_void_p, pids: Collection[int]) -> int | None:
        found = (_ProcessInfo * _MOST_PROCESSES)()
        count = ctypes.c_uint(_MOST_PROCESSES)
        ask = self._nvml.nvmlDeviceGetComputeRunningProcesses_v3
        if ask(device, ctypes.byref(count), found) != 0:
            return None
        held = [info.used_bytes for info in found[: count.value] if info.pid in pids]
        return sum(0 if used == _NOT_TOLD else used for used in held) if held else None


def gpus_here() -> Gpus | None:
    """Return the GPUs of this machine; None without a driver."""
    try:
        return Nvml(ctypes.CDLL("libnvidia-ml.so.1"))
    except (OSError, AttributeError):
        return None
