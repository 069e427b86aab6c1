"""Why a command ended: one classifier for every door. Standard library only.

Only ``host_memory`` is cured by a larger memory request; each other cause has a cure of its own.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from typing import Literal

from prophase.json_types import JsonObject

EndCause = Literal[
    "completed",
    "host_memory",
    "gpu_memory",
    "own_limit",
    "node_pressure",
    "time_limit",
    "killed",
    "failed",
]

#: what to do after each end that can be cured
CURES: dict[str, str] = {
    "host_memory": "Ask for more memory.",
    "gpu_memory": "More host memory does not help. Use a smaller batch, a GPU with more memory, "
    "or more GPUs.",
    "own_limit": "Raise the limit that the program has of its own (java -Xmx, node "
    "--max-old-space-size, ulimit -v, docker --shm-size). If it should follow the request, derive "
    "it from PROPHASE_MEMORY_GIB.",
    "node_pressure": "The node was short of memory, not this command: run it again with the same "
    "request, elsewhere or later.",
    "time_limit": "Ask for more time. More memory does not help.",
}
#: the word for it in the column ``status`` of the job table
STATUS: dict[str, str] = {
    "completed": "completed",
    "host_memory": "oom",
    "node_pressure": "preempted",
    "time_limit": "timeout",
    "killed": "cancelled",
}
#: causes after which the same command may succeed with the same memory
INTERRUPTIONS = ("killed", "node_pressure")
#: ends after which the command might have needed more than it was seen to hold
CUT_SHORT = (*INTERRUPTIONS, "time_limit")
#: as shells and timeout(1) have it
KILLED, TERMINATED, TIMED_OUT = 128 + signal.SIGKILL, 128 + signal.SIGTERM, 124

#: what schedulers call an end
REASONS: dict[str, EndCause] = {
    "OOMKilled": "host_memory",
    "OUT_OF_MEMORY": "host_memory",
    "Evicted": "node_pressure",
    "DeadlineExceeded": "time_limit",
    "TIMEOUT": "time_limit",
}
#: what PyTorch, TensorFlow, JAX, CuPy and the drivers print when a GPU has no more memory
_GPU_MEMORY = re.compile(
    rb"(CUDA|HIP|XPU|MPS backend)[ :]+(error: )?out of memory"
    rb"|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|hipErrorOutOfMemory"
    rb"|cuda(runtime)?\.OutOfMemoryError|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED"
    rb"|cupy\S*\.memory\.OutOfMemoryError"
    rb"|OOM when allocating tensor[^\n]*(GPU|gpu)"
    rb"|RESOURCE_EXHAUSTED: [^\n]*(Out of memory (while trying to allocate|allocating)|GPU|gpu)"
    rb"|(GPU|VRAM) out of memory|out of GPU memory",
    re.IGNORECASE,
)
#: what programs print when memory was refused to them below the limit of the job
_OWN_LIMIT = re.compile(
    rb"java\.lang\.OutOfMemoryError|JavaScript heap out of memory"
    rb"|\bMemoryError\b|\bbad_alloc\b|[Cc]annot allocate (memory|vector of size)"
    rb"|There is insufficient memory for the Java Runtime Environment"
    rb"|insufficient shared memory \(shm\)|Unable to allocate [\d.]+ (?:K|M|G|T|P)iB for an array"
    rb"|virtual memory exhausted|memory allocation of \d+ bytes failed"
    rb"|runtime: out of memory|\b[Oo]ut of memory\b"
)


@dataclass(frozen=True)
class EndEvidence:
    """All that is known of how a command ended."""

    exit_code: int
    #: the end of what it printed
    printed: bytes = b""
    #: the word of a scheduler for it, and what it adds
    reason: str = ""
    message: str = ""
    timeout_s: float | None = None
    timed_out: bool = False
    #: memory it was limited to, what it reached; None if unknown
    limit_bytes: float | None = None
    peak_bytes: float | None = None
    #: processes that the kernel killed for lack of memory; None if nobody counts them
    oom_kills: int | None = None
    #: we ended it because it held more than its limit
    exceeded: bool = False
    #: whether the exit code stands for a signal that the command itself received
    signalled: bool = False


@dataclass(frozen=True)
class CommandEnd:
    """The cause of an end, and how it was recognised."""

    cause: EndCause
    because: str


def command_end(seen: EndEvidence) -> CommandEnd:
    """Return why a command ended.

    Examples
    --------
    >>> command_end(EndEvidence(1, b"torch.OutOfMemoryError: CUDA out of memory.")).cause
    'gpu_memory'
    >>> command_end(EndEvidence(137, reason="OOMKilled")).cause
    'host_memory'
    """
    if seen.timed_out:
        said = f"not finished after {seen.timeout_s:g} s" if seen.timeout_s else "out of time"
        return CommandEnd("time_limit", said)
    if seen.reason in REASONS and seen.exit_code != 0:
        told = seen.reason if not seen.message else f"{seen.reason}: {seen.message}"
        return CommandEnd(REASONS[seen.reason], told)
    if seen.exit_code == 0:
        return CommandEnd("completed", "")
    if seen.exceeded:
        return CommandEnd("host_memory", "its processes together exceeded the limit")
    if seen.oom_kills:
        return _killed_by_kernel(seen)
    printed = _printed_cause(seen.printed)
    if printed is not None:
        return printed
    if seen.exit_code == KILLED:
        return _killed(seen)
    if seen.exit_code == TERMINATED:
        return CommandEnd("killed", "terminated from outside")
    if seen.reason:
        told = "; ".join(filter(None, [seen.reason, seen.message]))
        return CommandEnd("failed", told)
    return CommandEnd("failed", f"exit {seen.exit_code}")


def cause_of(result: JsonObject) -> str:
    """Return the cause in a result on record; older ones only say whether it was an OOM."""
    if result.get("cause"):
        return str(result["cause"])
    if result.get("oom"):
        return "host_memory"
    if result["exit_code"] == 0:
        return "completed"
    return "killed" if result["exit_code"] in (KILLED, TERMINATED) else "failed"


def status_of(cause: str) -> str:
    """Return the word of the job table for a cause."""
    return STATUS.get(cause, "failed")


def _killed_by_kernel(seen: EndEvidence) -> CommandEnd:
    if seen.limit_bytes is None or seen.peak_bytes is None:
        return CommandEnd("host_memory", "the kernel killed it for lack of memory")
    if seen.peak_bytes >= 0.9 * seen.limit_bytes:
        return CommandEnd("host_memory", "the kernel killed it at its limit")
    return CommandEnd("node_pressure", "the kernel killed it below its limit")


def _killed(seen: EndEvidence) -> CommandEnd:
    if seen.oom_kills == 0 and (seen.signalled or seen.limit_bytes is not None):
        return CommandEnd("killed", "killed from outside")
    if seen.limit_bytes is None:
        # a container or a remote step that was killed says no more than this
        return CommandEnd("host_memory", "exit 137: killed, most likely for lack of memory")
    if (seen.peak_bytes or 0.0) > 0.9 * seen.limit_bytes:
        return CommandEnd("host_memory", "killed near its limit")
    return CommandEnd("killed", "killed from outside")


def _printed_cause(printed: bytes) -> CommandEnd | None:
    """Return the cause that the output names: what is said last of a GPU or of a limit."""
    found = _GPU_MEMORY.search(printed)
    if found:
        return CommandEnd("gpu_memory", f"it printed {_quoted(found)}")
    found = _OWN_LIMIT.search(printed)
    return CommandEnd("own_limit", f"it printed {_quoted(found)}") if found else None


def _quoted(found: re.Match[bytes]) -> str:
    return f'"{found.group().decode(errors="replace")[:80]}"'
