"""Questions that an agent may ask of a workspace; every answer has an interval or says why not.

Nothing here changes a file: what is not learnt yet is answered with the command that learns it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

import pandas as pd

from prophase.errors import ProphaseError
from prophase.json_types import JsonMapping, JsonObject
from prophase.plain import finite
from prophase.profile.job_forecast.forecast_builder import ask
from prophase.serve.loaded_workspace import WorkspaceCache
from prophase.study.submission.job_recommender import JobRecommender

P = ParamSpec("P")
#: rows of an answer that an agent is given at once
MOST_ROWS = 50
_USE = (
    ("cpu", "request_cpu_cores", "cpu_peak_cores", "cpu_mean_cores", 1.0),
    ("memory", "request_memory_gib", "memory_peak_gib", "memory_mean_gib", 1.0),
    ("gpu", "request_gpus", "gpu_util_mean_pct", "gpu_util_mean_pct", 0.01),
)


def _answered(
    question: Callable[Concatenate[AgentTools, P], JsonObject],
) -> Callable[Concatenate[AgentTools, P], JsonObject]:
    """Let a question that cannot be answered be silent, with the reason."""

    @wraps(question)
    def asked(tools: AgentTools, /, *given: P.args, **named: P.kwargs) -> JsonObject:
        tools.library.reload()
        try:
            found: JsonObject = finite(question(tools, *given, **named))
        except ProphaseError as error:
            return {"silent": str(error)}
        return found

    return asked


class AgentTools:
    """What an agent may ask; each method is a tool, its docstring what the agent is told.

    Parameters
    ----------
    folder : path
        The workspace, whose one model answers as at every other door.

    Examples
    --------
    >>> from prophase.trace.synth.pai import make_pai
    >>> from prophase.trace.workspace import Workspace
    >>> folder = getfixture("tmp_path") / "ws"
    >>> made = make_pai(60, days=1.0, random_state=0)
    >>> _ = Workspace.create(folder).store_frames(made.tables, source="x", source_hash="h")
    >>> AgentTools(folder).ask_before_submit({"user": "ann"})["silent"]
    'ws: has no predictions yet. Learn with: prophase learn ws'
    """

    def __init__(self, folder: Path | str) -> None:
        self.library = WorkspaceCache(Path(folder))

    @_answered
    def about_workspace(self) -> JsonObject:
        """Say what this workspace holds: tables, time span, models, and how jobs are grouped."""
        from prophase.trace.identity.job_identity import grouped_by

        held = self.library.now
        told: JsonObject = {
            "workspace": held.workspace.folder.name,
            "tables": {name: one.rows for name, one in held.tables.items()},
            "models": sorted(held.models),
        }
        if "jobs" in held.tables:
            jobs = held.table("jobs")
            told |= {"source": held.tables["jobs"].source, "grouped_by": grouped_by(jobs)}
            if "submit_s" in jobs and held.tables["jobs"].clock != "relative":
                ends = (jobs["submit_s"].min(), jobs["submit_s"].max())
                told["submitted"] = [
                    datetime.fromtimestamp(float(one), UTC).isoformat() for one in ends
                ]
        return told

    @_answered
    def ask_before_submit(self, job: dict[str, Any]) -> JsonObject:
        """Predict how long a job will run and what it will use, before it is submitted.

        Give what is known of it, such as user, group, name, queue, gpus, memory ("16Gi"), cpus,
        time_limit ("8h"). Each target has a value, a 90 % range (low, high), a confidence and a
        reason, or is silent and says why.
        """
        held = self.library.now
        found = ask(held.model, job, classifier=held.classifier).to_dict()
        return {**found, **held.model.origin}

    @_answered
    def recommend_request(self, job: dict[str, Any]) -> JsonObject:
        """Recommend what a job should request of memory, CPUs and time, and why.

        ``ladder`` holds the requests of the first and later attempts. A request that stays has an
        empty ladder and the reason. Recommendations never cross a tenant: say the user and group.
        """
        held = self.library.now
        recommender = JobRecommender(
            held.models.get("predictions"), held.classifier, held.models.get("requests")
        )
        return recommender.counsel(job).to_dict()

    @_answered
    def list_recommendations(self, resource: str = "memory", most: int = 20) -> JsonObject:
        """List which kinds of job should request something else, the largest saving first.

        ``resource`` is memory, cpu, gpu, gpu-memory or time. ``oom_low_pct`` and ``oom_high_pct``
        are the interval of the share of runs that the first request would be too small for.
        """
        from prophase.sizing.gpu_grants import parts_given
        from prophase.sizing.kind_recommendation import (
            Gate,
            ResourceRecommendations,
            recommend,
        )
        from prophase.trace.identity.job_identity import with_identity

        held = self.library.now

        def sized() -> ResourceRecommendations:
            jobs = held.table("jobs")
            nodes = held.table("nodes") if "nodes" in held.tables else None
            gate = Gate(gpu_parts=parts_given(jobs, nodes))
            return recommend(with_identity(jobs), gate=gate, resource=resource)

        found = held.answer(
            ("agent-sizes", resource),
            lambda: sized().to_dict(),
        )
        tasks = found["tasks"]
        changed = [
            one for one in tasks if one["advice"] is not None and one["advice"] != one["now"]
        ]
        told = {name: value for name, value in found.items() if name != "tasks"}
        return {
            **told,
            "changed": len(changed),
            "kept": len(tasks) - len(changed),
            "tasks": changed[: min(most, MOST_ROWS)],
        }

    @_answered
    def prove_recommendation(self, resource: str = "memory", max_oom: float = 0.01) -> JsonObject:
        """Prove recommended requests on the history: what they save and risk, with intervals.

        The verdict is pass, fail or undecided, with every check behind it.
        """
        from prophase.study.proof.prover import prove
        from prophase.study.proof.verdict import Limits

        held = self.library.now

        def proven() -> JsonObject:
            limits = Limits(max_oom, 0.0, None)
            return prove(
                held.table("jobs"), None, None, limits=limits, resource=resource, seeds=0
            ).to_dict()

        whole = held.answer(("agent-proof", resource, max_oom), proven)
        wanted = ("resource", "unit", "verdict", "jobs", "advised_jobs", "saving", "oom", "totals",
                  "why_no_replay")  # fmt: skip
        return {name: whole[name] for name in wanted if name in whole}

    @_answered
    def why_waiting(self, cluster: str = "", by: str = "class") -> JsonObject:
        """Split the waiting time of the history by cause: capacity, order, fragmentation and so on.

        Replays the history. ``cluster`` is needed if the workspace has no node table, such as
        "20x8 V100 96c 512g"; ``by`` splits further: class, gpus, or a column such as user.
        """
        from prophase.sim.why.explanation import why

        workload, nodes, clock = self._replayed(cluster)
        found = why(workload, nodes, by=by, clock=clock, remove=False, order="fifo",
                    place="best_fit", queue="skip", seed=0, leave_out_unfit=True)  # fmt: skip
        return {"in_words": found.summary(), **_short(found.to_dict())}

    @_answered
    def simulate_change(
        self, add: str = "", remove: str = "", policy: str = "", load: float = 1.0,
        cluster: str = "",
    ) -> JsonObject:  # fmt: skip
        """Replay the history with one change and compare it with today, with intervals.

        ``add`` and ``remove`` are nodes, such as "16x8 A10"; ``policy`` is order[:place[:queue]],
        such as "shortest" or "fifo:fgd:strict"; ``load`` multiplies the jobs per day. Changes of
        the mean wait have a 95 % interval over resampled days.
        """
        from prophase.sim.whatif.result import what_if
        from prophase.sim.whatif.scenarios import WhatIfQuestion

        workload, nodes, _ = self._replayed(cluster)
        question = WhatIfQuestion(
            add=[add] if add else [],
            remove=[remove] if remove else [],
            policies=[policy] if policy else [],
            loads=[load] if load != 1.0 else [],
        )
        today = {"order": "fifo", "place": "best_fit", "queue": "skip"}
        found = what_if(workload, nodes, question, today, seeds=8, leave_out_unfit=True)
        return {"rows": list(found.rows), "notes": list(found.notes)}

    @_answered
    def find_waste(self, by: str = "tenant", most: int = 20) -> JsonObject:
        """Say who reserves what and uses how much of it, the largest waste first.

        ``by`` is tenant, kind, user, queue or another column. Shares are weighted by run time, with
        a 95 % interval over days where the history is long enough.
        """
        from prophase.errors import ParameterError, not_among
        from prophase.trace.identity.job_identity import with_identity

        held = self.library.now
        jobs = with_identity(held.table("jobs"))
        if by not in jobs:
            raise ParameterError(not_among(f"there is no column {by!r}.", by, list(jobs.columns)))
        rows: list[JsonObject] = [
            {by: str(name), "jobs": len(part), "resources": _use(part)}
            for name, part in jobs.groupby(by, sort=False)
        ]
        rows.sort(key=lambda row: -sum(one["idle_hours"] for one in row["resources"].values()))
        return {"by": by, "groups": len(rows), "rows": rows[: min(most, MOST_ROWS)]}

    @_answered
    def explain_job(self, job_id: str) -> JsonObject:
        """Say what is known of one past job: request, use, wait, and what it should have requested.

        What was predicted is from the model as it is now, which may have learnt from this job.
        """
        from prophase.errors import ParameterError
        from prophase.trace.schema import known_at_submit

        held = self.library.now
        jobs = held.table("jobs")
        found = jobs[jobs["job_id"].astype(str) == job_id]
        if found.empty:
            raise ParameterError(
                f"there is no job {job_id!r}. search_jobs finds jobs by user, tenant or kind."
            )
        row = {str(k): v for k, v in found.iloc[0].dropna().items()}
        known = {name: row[name] for name in known_at_submit(row)}
        told: JsonObject = {"job": {name: _plain(value) for name, value in row.items()}}
        if "predictions" in held.models:
            told["predicted"] = ask(held.model, known, brief=True).to_dict()["targets"]
        if "requests" in held.models:
            told["recommended"] = self.recommend_request(known).get("requests", [])
        return told

    @_answered
    def search_jobs(
        self, user: str = "", tenant: str = "", kind: str = "", status: str = "", most: int = 20
    ) -> JsonObject:
        """Find past jobs by user, tenant, kind or status, the newest first."""
        from prophase.trace.identity.job_identity import with_identity

        jobs = with_identity(self.library.now.table("jobs"))
        for column, value in (
            ("user", user), ("tenant", tenant), ("kind", kind), ("status", status)
        ):  # fmt: skip
            if value and column in jobs:
                jobs = jobs[jobs[column].astype(str) == value]
        if "submit_s" in jobs:
            jobs = jobs.sort_values("submit_s", ascending=False)
        shown = ["job_id", "user", "tenant", "kind", "status", "submit_s", "wait_s", "duration_s",
                 "request_memory_gib", "memory_peak_gib", "request_gpus"]  # fmt: skip
        rows = jobs[[name for name in shown if name in jobs]].head(min(most, MOST_ROWS))
        told = [
            {str(k): _plain(v) for k, v in row.items() if not pd.isna(v)}
            for row in rows.to_dict("records")
        ]
        return {"found": len(jobs), "jobs": told}

    def _replayed(self, cluster: str) -> tuple[Any, Any, str]:
        from prophase.errors import ParameterError
        from prophase.sim.workload import Workload
        from prophase.study.cluster import machines
        from prophase.trace.trace_tables import open_trace

        held = self.library.now
        trace = held.answer(
            "agent-trace", lambda: open_trace(held.workspace.folder, tables=["jobs", "nodes"])
        )
        nodes = machines(trace, cluster or None)
        if nodes is None:
            raise ParameterError(
                'the workspace has no node table: name the cluster, such as "20x8 V100 96c 512g".'
            )
        return Workload.from_jobs(trace.jobs), nodes, trace.clock


#: the tools, in the order an agent reads them
TOOLS = (
    "about_workspace", "ask_before_submit", "recommend_request", "list_recommendations",
    "prove_recommendation", "why_waiting", "simulate_change", "find_waste", "explain_job",
    "search_jobs",
)  # fmt: skip


def _use(jobs: pd.DataFrame) -> JsonObject:
    """Return what a group reserves and uses, per resource that is measured."""
    from prophase.stats import calendar_blocks, ratio

    told: JsonObject = {}
    if "duration_s" not in jobs:
        return told
    hours = jobs["duration_s"].to_numpy(float, na_value=float("nan")) / 3600
    when = jobs["submit_s"] if "submit_s" in jobs else pd.Series(0.0, jobs.index)
    for name, request, peak, mean, factor in _USE:
        used = next((column for column in (peak, mean) if column in jobs), None)
        if request not in jobs or used is None:
            continue
        asked = jobs[request].to_numpy(float, na_value=float("nan"))
        use = jobs[used].to_numpy(float, na_value=float("nan")) * factor
        known = (asked > 0) & (use >= 0) & (hours > 0)
        if not known.any():
            continue
        reserved, held = asked[known] * hours[known], use[known] * hours[known]
        blocks = calendar_blocks(when.to_numpy(float, na_value=0.0)[known])
        share = ratio(held, reserved, blocks)
        told[name] = {
            "used_share": share.to_dict(),
            "idle_hours": float((reserved - held).clip(min=0).sum()),
        }
    return told


def _short(document: JsonMapping) -> JsonObject:
    """Return a document without its long tables."""
    return {
        name: value[:MOST_ROWS] if isinstance(value, list) else value
        for name, value in document.items()
    }


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
