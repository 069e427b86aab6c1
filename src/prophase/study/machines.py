"""The cluster a study runs on: named in short, a list of nodes, or the nodes of the trace."""

from __future__ import annotations

from pathlib import Path

from prophase.errors import MissingFileError, ParameterError
from prophase.sim.cluster import Cluster
from prophase.trace.loading import Trace, open_trace


def machines(trace: Trace, named: str | Path | None) -> Cluster | None:
    """Return the cluster that is named, else that of the trace's nodes; None if there is neither.

    Parameters
    ----------
    named : str or path, optional
        A file or workspace with nodes, a slurm.conf, or short as ``"20x8 V100 96c 512g"``.

    Examples
    --------
    >>> cluster = machines(Trace({}, "csv", ""), "2x8 V100 96c 512g")
    >>> cluster.gpus if cluster else None
    16
    """
    if named is None:
        return Cluster.from_nodes(trace.nodes) if "nodes" in trace.tables else None
    path = Path(named)
    if path.exists():
        source = "sacct" if path.suffix == ".conf" else None
        return Cluster.from_nodes(open_trace(path, source=source, tables=["nodes"]).nodes)
    try:
        return Cluster.parse(str(named))
    except ParameterError as cause:
        if path.suffix or len(path.parts) > 1:
            raise MissingFileError(f"{path}: there is no such list of nodes.") from cause
        raise
