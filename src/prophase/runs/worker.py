"""A worker: goes round the six branches, and lets others go on where it stops."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from prophase.errors import ProphaseError
from prophase.json_types import JsonObject
from prophase.runs.attribute_sources import AttributeSource
from prophase.runs.campaign import Campaign
from prophase.runs.collected_rows import collected_rows, rows_of_failed
from prophase.runs.executor import Executor, ExecutorCheck
from prophase.runs.maintainer import maintain
from prophase.runs.states import BRANCHES, Branch, RunState
from prophase.runs.store.leases import new_worker_name
from prophase.runs.store.records import Claim, LostClaimError

_log = logging.getLogger(__name__)
#: the id that a successful trigger brings
_ID_OF_STEP = {"deploy": "dag_id", "execute": "run_id", "profile": "profiling_id"}
#: leases are renewed this often within their time
_BEATS_PER_LEASE = 3
_LONGEST_SLEEP_S = 1.0


class Worker:
    """Works on a campaign, alone or beside others.

    Parameters
    ----------
    executor : Executor, optional
        Who deploys, executes and profiles; by default the one the pipeline names.
    attribute_sources : sequence of functions, optional
        Asked for further attributes of a run while it is profiled; see
        :func:`~prophase.runs.attribute_sources.gathered_attributes`.
    """

    def __init__(
        self,
        campaign: Campaign,
        executor: Executor | None = None,
        *,
        name: str | None = None,
        attribute_sources: Sequence[AttributeSource] = (),
    ) -> None:
        self.campaign = campaign
        self.executor = executor or campaign.executor
        self.name = name or new_worker_name()
        self.attribute_sources = tuple(attribute_sources)
        self._held: list[Claim] = []

    def tick(self) -> int:
        """Go once round all branches, and through the maintainer if it is due; return the moves."""
        settings = self.campaign.settings.read()
        self.executor.allocate(self.campaign.settings.allocations())
        with self._heartbeat(settings["lease_s"]):
            moves = sum(self.cycle(branch, settings) for branch in BRANCHES.values())
        self._maintain(settings)
        return moves

    def turn(self, branch: Branch, settings: dict[str, float]) -> int:
        """Let one branch take its runs, for schedulers that call each by itself."""
        self.executor.allocate(self.campaign.settings.allocations())
        with self._heartbeat(settings["lease_s"]):
            return self.cycle(branch, settings)

    def work(
        self, *, forever: bool = False, stop: Callable[[], bool] = lambda: False
    ) -> dict[RunState, int]:
        """Go on until nothing is left to do, and return how many runs are in which state.

        Each branch has its own interval; settings that change hold from the next cycle on.
        """
        next_s = dict.fromkeys(BRANCHES, 0.0)
        lease_s = self.campaign.settings.read()["lease_s"]
        with self._heartbeat(lease_s):
            while not stop():
                settings = self.campaign.settings.read()
                self.executor.allocate(self.campaign.settings.allocations())
                moves = 0
                for name, branch in BRANCHES.items():
                    if time.monotonic() >= next_s[name]:
                        moves += self.cycle(branch, settings)
                        next_s[name] = time.monotonic() + settings[f"{name}.interval_s"]
                self._maintain(settings)
                if not forever and not moves and self.is_done():
                    break
                pause_s = min(next_s.values()) - time.monotonic()
                time.sleep(min(max(0.0, pause_s), _LONGEST_SLEEP_S))
        self.campaign.workers.leave(self.name)
        return self.campaign.store.counts()

    def cycle(self, branch: Branch, settings: dict[str, float]) -> int:
        """Work on all runs that a branch may take now; return how many moved."""
        parallel = int(settings[f"{branch.name}.parallel"])
        if parallel == 0:
            return 0
        claims = self.campaign.store.claim(
            branch, self.name, most=parallel, parallel=parallel, lease_s=settings["lease_s"]
        )
        self._held = list(claims)
        try:
            return sum(self._handle(claim, branch) for claim in claims)
        finally:
            self._held = []

    def is_done(self) -> bool:
        """Say whether every run is finished or waits for somebody to reset it."""
        counts = self.campaign.store.counts()
        return all(state.failed or state is RunState.FINISHED for state in counts)

    def _handle(self, claim: Claim, branch: Branch) -> bool:
        try:
            if branch.kind == "trigger":
                self._trigger(claim, branch)
                return True
            return self._check(claim, branch)
        except LostClaimError as lost:
            _log.warning("%s", lost)
            return False

    def _trigger(self, claim: Claim, branch: Branch) -> None:
        store = self.campaign.store
        try:
            begin = getattr(self.executor, branch.step)
            brought = begin(self.campaign.assignment(claim.run))
        except Exception as error:
            # whatever an executor breaks with stops this run, not the worker
            _log.warning("run %d: %s: %s", claim.run.id, branch.name, error)
            store.advance(claim, "trigger failed", reason=str(error) or repr(error))
            return
        store.advance(claim, "triggered", **{_ID_OF_STEP[branch.step]: brought})

    def _check(self, claim: Claim, branch: Branch) -> bool:
        store = self.campaign.store
        try:
            look = getattr(self.executor, f"check_{branch.step}")
            check = look(self.campaign.assignment(claim.run))
        except Exception as error:
            # a check that fails says nothing about the run: it is looked at again
            _log.warning("run %d: %s: %s", claim.run.id, branch.name, error)
            store.release(claim)
            return False
        if check.progress == "running":
            store.release(claim)
            return False
        check = self._collected(claim, branch, check)
        reason = check.reason or None
        store.advance(claim, check.progress, reason=reason, task_rows=check.task_rows)
        return True

    def _collected(self, claim: Claim, branch: Branch, check: ExecutorCheck) -> ExecutorCheck:
        """Return the check with the rows to keep: of a profiling, or of a failed execution."""
        job, rows = self.campaign.assignment(claim.run), list[JsonObject]()
        if branch.step == "execute" and check.progress == "failed":
            rows = rows_of_failed(job, self.executor, self.attribute_sources)
        elif branch.step == "profile" and check.progress == "succeeded":
            try:
                rows = collected_rows(job, check.task_rows, self.attribute_sources)
            except Exception as error:
                # a source that breaks stops this run, not the worker; what was measured is kept
                return ExecutorCheck("failed", str(error) or repr(error), check.task_rows)
        return ExecutorCheck(check.progress, check.reason, rows)

    def _maintain(self, settings: dict[str, float]) -> None:
        if self.campaign.settings.due("maintain", settings["maintain.interval_s"]):
            for action in maintain(self.campaign, self.executor, actor=self.name):
                _log.warning("maintainer: %s", action)

    @contextmanager
    def _heartbeat(self, lease_s: float) -> Iterator[None]:
        """Renew what is held, from a thread, while the block runs."""
        over = threading.Event()

        def beat() -> None:
            while True:
                try:
                    self.campaign.workers.beat(self.name)
                    self.campaign.store.renew(list(self._held), lease_s=lease_s)
                except ProphaseError as error:
                    _log.warning("heartbeat: %s", error)
                if over.wait(lease_s / _BEATS_PER_LEASE):
                    return

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(timeout=10)
