"""Spread calls over processes of this machine, or over a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import wait as wait_for_end
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from prophase.errors import ParameterError, ProphaseError
from prophase.lazy_imports import optional
from prophase.version import __version__

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

#: how long one process works alone before others are started
_ALONE_S = 4.0
#: how long nothing may come before it is asked whether anybody is at work; a worker that died
#: has this long to start again
_IDLE_S = 60.0
#: how processes are made; not every system has the better way
_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
#: what a worker process was given once, for all of its calls
_shared: Any = None


def run_all(
    function: Callable[[Shared, Task], Result],
    shared: Shared,
    tasks: Sequence[Task],
    *,
    workers: int | str = 1,
    task_s: float | None = None,
) -> Generator[tuple[Task, Result], None, None]:
    """Call a function for every task and yield (task, result) as each finishes.

    Read it inside ``contextlib.closing``: Ctrl-C between two results leaves the generator alive
    in the traceback, and Python would wait at its end for calls that nobody reads.

    Parameters
    ----------
    function : module-level function
        Called as ``function(shared, task)``.
    shared : object
        Sent to each worker once, not with every task.
    workers : int or str, default=1
        Processes on this machine: 1 runs here, one after the other; 0 takes all cores once a few
        seconds here were not enough. Or the address of a Dask scheduler,
        ``"dask://host:8786"``; Prophase must be installed there.
    task_s : float, optional
        Seconds that a task may take. Where all together take a few, work begins here; where they
        take longer, processes are started at once.

    Examples
    --------
    >>> list(run_all(pow, 2, [3, 4]))
    [(3, 8), (4, 16)]
    """
    if isinstance(workers, int) and workers < 0:
        raise ParameterError(f"workers is {workers}; give a number of processes, or 0 for all.")
    if isinstance(workers, str):
        yield from _on_dask(function, shared, tasks, workers)
        return
    count = workers or os.cpu_count() or 1
    left = list(tasks)
    # new processes need seconds to start, which a small task never gets back
    short = workers == 0 if task_s is None else task_s * len(left) < _ALONE_S
    until = time.monotonic() + _ALONE_S if short else time.monotonic()
    while left and (min(count, len(left)) <= 1 or time.monotonic() < until):
        task = left.pop(0)
        yield task, function(shared, task)
    if left:
        load_ahead(function, count)
        with _processes(min(count, len(left)), shared) as executor:
            yield from _as_they_finish(executor, _with_shared, function, left)


def parse_workers(text: str) -> int | str:
    """Read a number of processes or a Dask address (``dask://`` or ``tcp://``, or host:port).

    Examples
    --------
    >>> parse_workers("4"), parse_workers("tcp://10.0.0.1:8786")
    (4, 'dask://10.0.0.1:8786')
    """
    if text.isdigit():
        return int(text)
    address = text.removeprefix(PREFIX).removeprefix("tcp://")
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise ParameterError(
            f"workers {text!r} is not understood. Give a number of processes, or the address of "
            "a Dask scheduler such as dask://10.0.0.1:8786."
        )
    return PREFIX + address


def _as_they_finish(
    executor: Executor,
    function: Callable[..., Any],
    handle: Any,
    tasks: Sequence[Task],
    *,
    idle: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Task, Any]]:
    """Yield results; ``idle`` is called when none came for a while, and may refuse to go on."""
    pending: dict[Future[Any], Task] = {}
    # a queue and not concurrent.futures.wait, which locks every future: Ctrl-C in the midst of
    # that leaves some locked, and the executor's own thread waits for them when Python ends
    finished: SimpleQueue[Future[Any]] = SimpleQueue()
    for task in tasks:
        future = executor.submit(function, handle, task)
        pending[future] = task
        future.add_done_callback(finished.put)
    try:
        while pending:
            try:
                future = finished.get(timeout=_IDLE_S)
            except Empty:
                idle()
                continue
            yield pending.pop(future), future.result()
    except BrokenProcessPool as cause:
        raise ProphaseError(
            "a worker process ended before its work was done; perhaps memory ran out. Use fewer "
            "--workers. In a script of your own, call this below: if __name__ == '__main__'."
        ) from cause


def load_ahead(function: Callable[..., Any], workers: int | str) -> None:
    """Let what workers need to call a function be loaded while this process prepares the calls."""
    if isinstance(workers, str) or workers <= 1 or _METHOD != "forkserver":
        return
    # Ctrl-C is for this process alone, also while the other one still loads; the tracker, started
    # by the other one's start otherwise, lets signals through again
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.set_forkserver_preload([function.__module__])
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _processes(count: int, shared: Any) -> Iterator[Executor]:
    """Start processes, not forked from this one: they would inherit locks of threads they lack.

    They come from a process that has no threads and has loaded what they need, once for all.
    """
    before = set(multiprocessing.active_children())
    executor = ProcessPoolExecutor(
        count,
        mp_context=multiprocessing.get_context(_METHOD),
        initializer=_begin,
        initargs=(shared, dict(os.environ)),
    )
    try:
        yield executor
    except BaseException:
        # Ctrl-C or an error: do not wait for calls that nobody will read. Their futures stay
        # uncancelled, or the executor's own thread stumbles over them when the workers are gone
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        executor.shutdown(wait=False)
        raise
    executor.shutdown()


def _begin(shared: Any, environment: Mapping[str, str]) -> None:
    """Prepare a worker: it leaves Ctrl-C to its parent, and ends when the parent is gone."""
    global _shared
    _shared = shared
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for_end([parent.sentinel])
        os._exit(1)


def _with_shared(function: Callable[[Any, Any], Any], task: Any) -> Any:
    return function(_shared, task)


def _on_dask(
    function: Callable[..., Any], shared: Any, tasks: Sequence[Task], address: str
) -> Iterator[tuple[Task, Any]]:
    with connected(address) as client:
        executor = client.get_executor(pure=False)
        with warnings.catch_warnings():
            # sent with a task, not scattered: what a lost worker held is then made again
            warnings.filterwarnings("ignore", "Sending large graph")
            handle = client.submit(lambda: shared, pure=False)

        def refuse_to_wait_for_nobody() -> None:
            if not client.nthreads():
                raise lost(address)

        try:
            yield from _as_they_finish(
                executor, function, handle, tasks, idle=refuse_to_wait_for_nobody
            )
        finally:
            executor.shutdown(wait=False)


PREFIX = "dask://"
_CONNECT_S = 15


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Return a client of the scheduler at ``dask://host:port``, which has workers like us.

    Refused are a scheduler that does not answer or has no workers, and workers without Prophase
    or with another version of it, whose numbers could differ.
    """
    distributed = optional("distributed", "running on a Dask cluster", "dask")
    try:
        client = distributed.Client("tcp://" + address.removeprefix(PREFIX), timeout=_CONNECT_S)
    except (OSError, ValueError) as cause:
        raise ProphaseError(
            f"no Dask scheduler answers at {address}. Start one with: dask scheduler"
        ) from cause
    with client:
        try:
            client.wait_for_workers(1, timeout=_CONNECT_S)
        except TimeoutError as cause:
            raise ProphaseError(
                f"the Dask scheduler at {address} has no workers. Start some with: "
                f"dask worker {address.removeprefix(PREFIX)}"
            ) from cause
        _refuse_other_versions(client, address)
        try:
            yield client
        except (
            distributed.KilledWorker,
            CancelledError,
            distributed.comm.CommClosedError,
        ) as cause:
            raise lost(address) from cause


def lost(address: str) -> ProphaseError:
    """Return what is said when a cluster's workers are gone and nobody takes their work over."""
    return ProphaseError(
        f"the Dask cluster at {address} lost workers and what they had to do; perhaps their "
        "memory ran out. Start them again, with fewer threads or more memory each; what was "
        "finished is kept where a folder or workspace was named."
    )


def _refuse_other_versions(client: Any, address: str) -> None:
    def version() -> str | None:
        try:
            from prophase.version import __version__ as its
        except ImportError:
            return None
        return its

    for worker, found in client.run(version).items():
        if found != __version__:
            has = "no Prophase" if found is None else f"Prophase {found}"
            raise ProphaseError(
                f"the worker {worker} of the Dask cluster at {address} has {has}, here is "
                f"{__version__}: numbers could differ. Install the same version there."
            )
