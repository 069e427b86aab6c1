"""Prove an advice in the background, with the result of the command."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prophase.serve.background.kinds import Progress


def prove_advice(folder: Path, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Replay the workspace's jobs with and without an advice, as ``prophase prove``."""
    from prophase.sim import Cluster
    from prophase.sizing.advising.advice import Gate
    from prophase.study.proof.given import advice_of
    from prophase.study.proof.proving import prove
    from prophase.study.proof.verdict import Limits
    from prophase.trace.loading import open_trace

    progress("reading the trace", None)
    trace = open_trace(folder, tables=["jobs", "nodes"])
    text = arguments["cluster"]
    nodes = Cluster.from_nodes(trace.nodes) if "nodes" in trace.tables else None
    given = arguments["advice"]
    proof = prove(
        trace.jobs,
        None if given is None else advice_of(given),
        nodes if text is None else Cluster.parse(text),
        limits=Limits(*(arguments[n] for n in ("max_oom", "min_saving", "max_longer_wait"))),
        risk=arguments["risk"],
        gate=Gate(arguments["min_runs"], arguments["advise_above"]),
        resource=arguments["resource"],
        kind=arguments["kind"],
        splits=arguments["splits"],
        seeds=arguments["seeds"],
        fails_after=arguments["kills_after"],
        by=arguments["by"],
        policy={name: arguments[name] for name in ("order", "place", "queue")},
        seed=arguments["seed"],
        show=progress,
    )
    return {"data_hash": trace.data_hash, **proof.to_dict()}
