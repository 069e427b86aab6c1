"""A Dask cluster that somebody has started: connect to it, and say in our words what fails."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from prophase import __version__
from prophase.errors import ProphaseError
from prophase.lazy import optional

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
            import prophase
        except ImportError:
            return None
        return str(prophase.__version__)

    for worker, found in client.run(version).items():
        if found != __version__:
            has = "no Prophase" if found is None else f"Prophase {found}"
            raise ProphaseError(
                f"the worker {worker} of the Dask cluster at {address} has {has}, here is "
                f"{__version__}: numbers could differ. Install the same version there."
            )
