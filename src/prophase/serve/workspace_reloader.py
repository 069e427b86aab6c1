"""The thread that keeps a service up to date: new files, and reported jobs to learn from."""

from __future__ import annotations

import logging
import socket
import threading

from prophase.serve.loaded_workspace import WorkspaceCache
from prophase.serve.metrics import Metrics
from prophase.serve.model_versions import ModelVersions

log = logging.getLogger("prophase.serve")


class WorkspaceReloader:
    """Looks after a library now and then.

    Parameters
    ----------
    every_s : float
        How often; 0 never.
    versions : ModelVersions, optional
        Tables and models that replicas share.
    """

    def __init__(
        self,
        library: WorkspaceCache,
        metrics: Metrics,
        *,
        every_s: float,
        versions: ModelVersions | None = None,
    ) -> None:
        self.library, self.metrics, self.every_s = library, metrics, every_s
        self.versions = versions
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def start(self) -> None:
        """Begin, if there is anything to do."""
        if self.every_s > 0:
            self._thread.start()

    def stop(self) -> None:
        """End, after what is being loaded."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _keep(self) -> None:
        while not self._stop.wait(self.every_s):
            try:
                if self.versions is not None:
                    self.versions.synchronise(socket.gethostname())
            except Exception:
                log.exception("the version of tables and models in use cannot be fetched")
            try:
                if self.library.reload():
                    self.metrics.reloads.inc()
                    for name, error in self.library.now.broken.items():
                        log.warning("%s is not used: %s", name, error)
                self.library.learn_reported()
            except Exception:
                # what is loaded goes on answering, and the next look may succeed
                log.exception("cannot bring the service up to date")
