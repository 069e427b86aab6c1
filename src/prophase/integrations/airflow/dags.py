"""DAGs for Airflow 3: of a deployed pipeline, and of a campaign's scheduler and maintainer.

Airflow's own Python imports this file. It needs the package alone, without what it depends on:
``pip install --no-deps prophase`` (and ``psycopg[binary]`` for a campaign on PostgreSQL).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from prophase.errors import MissingExtraError
from prophase.json_types import JsonObject
from prophase.runs.local.attempt_process import TaskFailedError, TryAgainError, try_once
from prophase.runs.states import BRANCHES

_log = logging.getLogger(__name__)
#: more than the attempts on record ever ask for: they decide when a task has failed
_RETRIES = 50
_TAG = "prophase"


def pipeline_dag(deployment: Path | str) -> Any:
    """Return the DAG of one deployed pipeline, one task for each of its tasks.

    Runs are triggered by :class:`~prophase.integrations.airflow.executor.AirflowExecutor`, which
    says in their configuration where the run's folder is. Every try is an attempt under a
    memory limit; after an OOM Airflow tries again, with more.

    Parameters
    ----------
    deployment : path
        File ``deployment.json`` that the executor has put beside the DAG.
    """
    sdk = _sdk()
    described = json.loads(Path(deployment).read_text(encoding="utf-8"))
    with sdk.DAG(
        dag_id=described["dag_id"],
        description=f"{described['pipeline']} for scenario {described['scenario']}",
        schedule=None,
        catchup=False,
        is_paused_upon_creation=False,
        max_active_tasks=described["parallel_tasks"],
        tags=[_TAG, f"campaign:{described['campaign']}"],
    ) as dag:
        tasks = {
            name: sdk.task(
                task_id=name,
                retries=_RETRIES,
                retry_delay=timedelta(seconds=described["retry_delay_s"]),
            )(_attempt)(name, described["allocations_variable"])
            for name in described["tasks"]
        }
        for name, after in described["tasks"].items():
            for before in after:
                tasks[before] >> tasks[name]
    return dag


def campaign_dags(
    campaign: Path | str,
    *,
    name: str = "prophase",
    every: timedelta = timedelta(minutes=1),
    maintain_every: timedelta = timedelta(minutes=5),
    variable: str | None = None,
) -> tuple[Any, Any]:
    """Return the DAGs of a campaign's scheduler, with its six branches, and of its maintainer.

    Parameters
    ----------
    campaign : path
        Folder that ``prophase runs init`` has made.
    name : str, default="prophase"
        The DAGs are called ``NAME_scheduler`` and ``NAME_maintainer``.
    every, maintain_every : timedelta
        How often they run. A branch whose ``interval_s`` is longer waits for its turn.
    variable : str, optional
        Airflow Variable with live settings as JSON, such as
        ``{"execute.parallel": 4, "task.train.memory_gib": 16}``; by default ``NAME_settings``.
        What it says holds from the next cycle on.
    """
    sdk = _sdk()
    settings = variable or f"{name}_settings"
    common: JsonObject = {
        "catchup": False,
        "max_active_runs": 1,
        "is_paused_upon_creation": False,
        "tags": [_TAG],
    }
    with sdk.DAG(
        dag_id=f"{name}_scheduler", schedule=every, description=f"Runs of {campaign}", **common
    ) as scheduler:
        for branch in BRANCHES:
            sdk.task(task_id=branch)(_cycle)(
                str(campaign), branch, settings, every.total_seconds() / 2
            )
    with sdk.DAG(
        dag_id=f"{name}_maintainer",
        schedule=maintain_every,
        description=f"Repairs what is stuck in {campaign}",
        **common,
    ) as maintainer:
        sdk.task(task_id="maintain")(_maintain)(str(campaign), settings)
    return scheduler, maintainer


def _attempt(name: str, allocations_variable: str) -> JsonObject:
    """One try of Airflow is one attempt at a task of the pipeline."""
    sdk = _sdk()
    place = sdk.get_current_context()["dag_run"].conf["folder"]
    allocations = _variable(allocations_variable)
    try:
        ended = try_once(Path(place), name, allocations.get(name, {}))
    except TryAgainError as again:
        _log.warning("%s", again)
        raise
    except TaskFailedError as failed:
        raise _final()(str(failed)) from failed
    _log.info("task %s: %s", name, json.dumps(ended))
    return ended


def _cycle(campaign: str, branch: str, variable: str, tolerance_s: float) -> int:
    """Let a branch take its runs, if it is its turn; return how many moved."""

    def work(worker: Any, settings: dict[str, float]) -> int:
        waits_s = settings[f"{branch}.interval_s"] - tolerance_s
        if not worker.campaign.settings.due(f"airflow.{branch}", waits_s, at_first=True):
            _log.info("%s: its interval is not over", branch)
            return 0
        moved = worker.turn(BRANCHES[branch], settings)
        _log.info("%s: %d moved", branch, moved)
        return int(moved)

    return _with_worker(campaign, variable, work)


def _maintain(campaign: str, variable: str) -> int:
    """Put in order what can be put in order; return how many actions that took."""
    from prophase.runs.maintainer import maintain

    def work(worker: Any, settings: dict[str, float]) -> int:
        actions = maintain(worker.campaign, worker.executor, actor=worker.name)
        for action in actions:
            _log.warning("maintainer: %s", action)
        return len(actions)

    return _with_worker(campaign, variable, work)


def _with_worker(
    folder: str, variable: str, work: Callable[[object, dict[str, float]], int]
) -> int:
    from prophase.runs.campaign import Campaign
    from prophase.runs.worker import Worker

    campaign = Campaign.open(folder)
    try:
        take_over(campaign, _variable(variable))
        worker = Worker(campaign)
        done = work(worker, campaign.settings.read())
        campaign.workers.leave(worker.name)
        return done
    finally:
        campaign.close()


def take_over(campaign: Any, wanted: JsonObject) -> None:
    """Make the campaign's settings say what an Airflow Variable says; what is wrong is left out."""
    from prophase.errors import ParameterError

    there = campaign.settings.read()
    for key, value in wanted.items():
        if there.get(key) != value:
            try:
                campaign.set(f"{key}={value}", actor="airflow variable")
            except ParameterError as wrong:
                _log.error("%s", wrong)


def _variable(key: str) -> JsonObject:
    """Read a Variable that holds a JSON object; empty if there is none."""
    text = _sdk().Variable.get(key, default="{}")
    try:
        found = json.loads(text)
    except (TypeError, ValueError):
        found = None
    if not isinstance(found, dict):
        _log.error('Variable %s must be a JSON object such as {"execute.parallel": 4}.', key)
        return {}
    return found


def _sdk() -> Any:
    try:
        import airflow.sdk
    except ImportError as cause:
        raise MissingExtraError("DAGs for Airflow", "airflow") from cause
    return airflow.sdk


def _final() -> type[Exception]:
    """Return the exception after which Airflow does not try again."""
    try:
        from airflow.sdk.exceptions import AirflowFailException
    except ImportError:
        from airflow.exceptions import AirflowFailException
    found: type[Exception] = AirflowFailException
    return found
