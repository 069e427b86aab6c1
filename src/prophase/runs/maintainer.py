"""The maintainer: frees what dead workers hold, restarts what is stuck, ends what nobody needs."""

from __future__ import annotations

import time
from collections.abc import Iterator

from prophase.errors import ProphaseError
from prophase.runs.campaign import Campaign
from prophase.runs.collected_rows import rows_of_failed
from prophase.runs.executor import Executor
from prophase.runs.states import BRANCHES, RunState
from prophase.runs.store.records import LostClaimError, Run

#: a worker that missed this many leases is dead
_LEASES_UNTIL_DEAD = 3


def maintain(campaign: Campaign, executor: Executor, *, actor: str) -> list[str]:
    """Put in order what can be put in order; return one line per action.

    A stuck run is restarted once. If it is stuck again, it fails with a note.
    """
    settings = campaign.settings.read()
    done = [
        f"run {run}: freed, its worker {worker} went silent"
        for run, worker in campaign.store.release_expired()
    ]
    done += [
        f"worker {worker}: struck off, it was not seen for {_LEASES_UNTIL_DEAD} leases"
        for worker in campaign.workers.silent_since(_LEASES_UNTIL_DEAD * settings["lease_s"])
    ]
    for branch in BRANCHES.values():
        if branch.kind == "check":
            limit_s = settings[f"stuck.{branch.step}_s"]
            for run in campaign.store.runs(states=[branch.takes]):
                if time.time() - run.changed_at_s > limit_s:
                    done += _unstick(campaign, executor, run, branch.name, limit_s, actor)
    executing = campaign.store.runs(states=[RunState.DEPLOYED, RunState.EXECUTING])
    try:
        done += executor.tidy([campaign.assignment(run) for run in executing], campaign.key)
    except (ProphaseError, OSError) as error:
        done.append(f"could not tidy up: {error}")
    return done


def _unstick(
    campaign: Campaign, executor: Executor, run: Run, branch: str, limit_s: float, actor: str
) -> Iterator[str]:
    story = campaign.store.history(run.id)
    restarted = bool(story) and story[-1].event == "restarted"
    if not restarted:
        try:
            what = executor.repair(campaign.assignment(run))
        except (ProphaseError, OSError) as error:
            what = f"could not restart it: {error}"
        what = what or "nothing to restart; it gets the same time once more"
        campaign.store.note(run.id, "restarted", actor=f"maintainer ({actor})", reason=what)
        yield f"run {run.id}: {run.state.label} for over {limit_s:g} s; {what}"
        return
    claims = campaign.store.claim_one(run.id, actor)
    if claims is None:
        return
    said = f"stuck: {run.state.label} for over {2 * limit_s:g} s, and a restart did not help"
    rows = rows_of_failed(campaign.assignment(run), executor) if branch == "check_execute" else []
    try:
        campaign.store.advance(claims, "failed", reason=said, task_rows=rows)
    except LostClaimError:
        return
    yield f"run {run.id}: {said}; reset it with: prophase runs reset {run.id} --to 17"
