from __future__ import annotations

import pytest

from prophase.runs.end_cause import CURES, EndEvidence, cause_of, command_end, status_of
from prophase.runs.next_attempt import Tried, verdict
from prophase.trace.schema import STATUSES

GIB = 2**30
#: what programs print when they end so
PRINTED = {
    "gpu_memory": [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has",
        "torch.cuda.OutOfMemoryError: CUDA out of memory.",
        "RuntimeError: CUDA error: out of memory",
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.",
        "RuntimeError: MPS backend out of memory (MPS allocated: 9.05 GB)",
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating "
        "tensor with shape[4096,4096] and type float on /job:localhost/device:GPU:0 by GPU_0_bfc",
        "failed to allocate 2.00G (2147483648 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY",
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
        "allocate 17179869184 bytes.",
        "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,589,934,592 bytes",
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    ],
    "own_limit": [
        'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space',
        "java.lang.OutOfMemoryError: GC overhead limit exceeded",
        "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
        "MemoryError",
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 74.5 GiB for an array",
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "Error: cannot allocate vector of size 7.5 Gb",
        "fork: Cannot allocate memory",
        "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. It is possible "
        "that dataloader's workers are out of shared memory: insufficient shared memory (shm).",
    ],
    "failed": ["ValueError: no room for more", "the zoom level is out of range", "oomph"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("cause", "text"), [(cause, text) for cause, texts in PRINTED.items() for text in texts]
)
def test_what_a_program_prints_last_names_the_cause(cause, text):
    printed = f"Traceback (most recent call last):\n{text}\n".encode()
    assert command_end(EndEvidence(1, printed, limit_bytes=GIB, oom_kills=0)).cause == cause


@pytest.mark.parametrize(
    ("seen", "cause"),
    [
        ({"exit_code": 0, "printed": b"CUDA out of memory, halving the batch"}, "completed"),
        ({"exit_code": 137, "limit_bytes": GIB, "peak_bytes": GIB, "oom_kills": 1}, "host_memory"),
        ({"exit_code": 1, "limit_bytes": GIB, "peak_bytes": GIB, "oom_kills": 1}, "host_memory"),
        ({"exit_code": 137, "limit_bytes": GIB, "exceeded": True}, "host_memory"),
        ({"exit_code": 137}, "host_memory"),
        ({"exit_code": 137, "oom_kills": 0, "signalled": True}, "killed"),
        ({"exit_code": 137, "limit_bytes": GIB, "oom_kills": 0}, "killed"),
        ({"exit_code": 143}, "killed"),
        ({"exit_code": 137, "limit_bytes": GIB, "peak_bytes": GIB / 4, "oom_kills": 1},
         "node_pressure"),
        ({"exit_code": 137, "reason": "Evicted"}, "node_pressure"),
        ({"exit_code": 137, "reason": "OOMKilled"}, "host_memory"),
        ({"exit_code": 124, "reason": "DeadlineExceeded"}, "time_limit"),
        ({"exit_code": 124, "timed_out": True, "timeout_s": 5.0}, "time_limit"),
        ({"exit_code": 124}, "failed"),
    ],
)  # fmt: skip
def test_the_kernel_and_schedulers_are_believed_before_exit_codes(seen, cause):
    assert command_end(EndEvidence(**seen)).cause == cause


def test_every_cause_is_a_status_of_the_job_table_and_only_host_memory_is_an_oom():
    causes = {*CURES, "completed", "killed", "failed"}
    assert {status_of(cause) for cause in causes} <= set(STATUSES)
    assert [cause for cause in causes if status_of(cause) == "oom"] == ["host_memory"]


def test_results_of_earlier_versions_are_understood():
    assert cause_of({"exit_code": 1, "oom": True}) == "host_memory"
    assert cause_of({"exit_code": 143, "oom": False}) == "killed"
    assert cause_of({"exit_code": 0, "oom": False}) == "completed"


@pytest.mark.parametrize(
    ("cause", "kind", "memory_gib"),
    [("host_memory", "again", 2.0), ("node_pressure", "again", 1.0), ("killed", "again", 1.0),
     ("gpu_memory", "failed", None), ("own_limit", "failed", None), ("time_limit", "failed", None)],
)  # fmt: skip
def test_a_pipeline_cures_each_cause_by_its_own_means(cause, kind, memory_gib):
    found = decide(cause, ["train"])
    assert (found.kind, found.memory_gib) == (kind, memory_gib)
    if kind == "failed":
        assert CURES[cause].removesuffix(".") in found.reason


def test_a_limit_of_its_own_is_lifted_with_the_memory_if_it_follows():
    assert decide("own_limit", ["java", "-Xmx{memory_gib}g"]).memory_gib == 2.0


def decide(cause, command):
    ended = {"exit_code": 1, "cause": cause, "because": "seen", "limit_gib": 1.0}
    task = {"memory_gib": 1.0, "advised_gib": [], "attempts": 3, "command": command}
    return verdict(
        task,
        [Tried(ended, 0)],
        allocation={},
        generation=0,
        node_memory_gib=None,
        bins_gib=[],
    )
