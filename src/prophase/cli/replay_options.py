"""Options of commands that replay a trace: which cluster, which policy, any other setting."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase.cli.trace_options import SourceOption as SourceOption
from prophase.cli.trace_options import named_values
from prophase.errors import ParameterError, not_among

if TYPE_CHECKING:
    from prophase.sim import Cluster
    from prophase.trace.trace_tables import Trace


NodesOption = Annotated[
    Path | None,
    typer.Option(help="Node list: a workspace, a file of the same source, or a slurm.conf."),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        help="A node list, or in short: nodes x GPUs, then GPU type, cores (c) and GiB of memory "
        "(g) per node, e.g. '50x8 V100 96c 512g, 20x2 T4'."
    ),
]
OrderOption = Annotated[
    str, typer.Option(help="Who goes first: a policy, or column:NAME, smallest first.")
]
PlaceOption = Annotated[str, typer.Option(help="Which node a job goes to.")]
QueueOption = Annotated[
    str, typer.Option(help="Behind a job that does not fit: skip, strict, easy, conservative.")
]
EstimateOption = Annotated[
    str, typer.Option(help="Column with the run times that backfilling plans with.")
]
LeaveOutOption = Annotated[
    bool,
    typer.Option("--leave-out-unfit", help="Leave out jobs that fit on no node, and count them."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other setting of simulate(), several times if need be.",
    ),
]
SlurmOption = Annotated[
    Path | None,
    typer.Option(
        help="Take order, queue, backfilling and choice of nodes from this slurm.conf (or its "
        "folder); options given beside it go first."
    ),
]
ClocksOption = Annotated[
    int,
    typer.Option(
        min=0,
        help="Replay so often, the scheduler's clock beginning at other instants, and take each "
        "job's mean wait; 0: 10 times for a scheduler that backfills by the clock, else once.",
    ),
]
#: what these commands decide themselves
_TAKEN = ("workload", "cluster")
_DEFAULTS = {"order": "fifo", "place": "best_fit", "queue": "skip", "estimate": "time_limit_s"}


def named_cluster(
    trace: Trace, path: Path, source: str | None, nodes: Path | None, cluster: str | None
) -> Cluster:
    """Return the cluster that the options or the trace describe."""
    from prophase.cli.provenance import open_trace
    from prophase.sim import Cluster
    from prophase.sim.results import cluster_of
    from prophase.study.cluster import machines

    if cluster is None and nodes is not None:
        reader = "sacct" if nodes.suffix == ".conf" else source
        return Cluster.from_nodes(open_trace(nodes, source=reader).nodes)
    found = machines(trace, cluster)
    return cluster_of(trace, None, where=str(path)) if found is None else found


def replay_settings(
    slurm: Path | None, pairs: Sequence[str] | None, **options: Any
) -> dict[str, Any]:
    """Return the settings of a replay: a Slurm configuration's, the options', then ``--set``'s.

    An option that has its default value leaves the configuration's word alone.
    """
    found = dict(options)
    if slurm is not None:
        from prophase.sim.slurm_conf import find_conf, slurm_settings

        given = {name: value for name, value in options.items() if value != _DEFAULTS.get(name)}
        found = {**options, **slurm_settings(find_conf(slurm)), **given}
    return {**found, **other_settings(pairs)}


def other_settings(pairs: Sequence[str] | None) -> dict[str, Any]:
    """Read ``--set name=value``: numbers, true and false, lists as in TOML, else text.

    Examples
    --------
    >>> other_settings(["seed=7", "place=first_fit"])
    {'seed': 7, 'place': 'first_fit'}
    """
    from prophase.sim import simulate

    known = [name for name in inspect.signature(simulate).parameters if name not in _TAKEN]
    found = typed_values(pairs, "--set")
    for name in found:
        if name not in known:
            said = f"--set {name}: simulate() has no setting {name!r}."
            raise ParameterError(not_among(said, name, known, heading="Settings"))
    return found


def typed_values(pairs: Sequence[str] | None, option: str) -> dict[str, Any]:
    """Read NAME=VALUE: numbers, true and false, lists as in TOML, else text."""
    found: dict[str, Any] = {}
    for name, text in named_values(pairs, option).items():
        try:
            found[name] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            found[name] = text
    return found


def given_rules(**rules: Any) -> dict[str, Any]:
    """Return the rules that were named."""
    return {name: value for name, value in rules.items() if value is not None}


_PANEL = "Rules of the cluster"

BackfillOption = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_PANEL,
        help="Backfilling: every, depth, per_user, window, e.g. 'every=30s,depth=100'.",
    ),
]
PreemptOption = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_PANEL,
        help="Push out jobs that come later: on, or 'checkpoint=10min,restart=30s'.",
    ),
]
ShareOption = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_PANEL,
        help="Sharing of GPUs: 'per_gpu=2,slowdown=0.28'; per_gpu=1: whole GPUs only.",
    ),
]
SpeedsOption = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_PANEL,
        help="Speed of GPU types: a table, 'measured=PATH,reference=v100', or own.",
    ),
]
ScalingOption = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_PANEL,
        help="Autoscaler: 'floor=2,boot=5min,idle=10min'; the cluster is its ceiling.",
    ),
]
FailuresOption = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_PANEL,
        help="Nodes fail: 'mtbf=30d,mttr=2h'.",
    ),
]
CalendarOption = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_PANEL,
        help="Planned absences of nodes: a table of from_s, to_s, node_id or share.",
    ),
]
LadderOption = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_PANEL,
        help="Retry with more memory after a kill: on, or 'factor=2,fails_after=0.5'.",
    ),
]
QuotasOption = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_PANEL,
        help="What users and queues may hold: a table of user or queue, gpus, jobs ...",
    ),
]
SharesOption = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_PANEL,
        help="What users and accounts own, for fair orders: a table of user, share.",
    ),
]
NoiseOption = Annotated[
    float,
    typer.Option(
        rich_help_panel=_PANEL,
        min=0,
        help="Estimates are off by a lognormal factor of this sigma.",
    ),
]
HalfLifeOption = Annotated[
    str,
    typer.Option(
        rich_help_panel=_PANEL,
        help="Usage counts half after this time in fair orders; 0: never.",
    ),
]
OrderOptionsOption = Annotated[
    list[str] | None,
    typer.Option(
        rich_help_panel=_PANEL,
        metavar="NAME=VALUE",
        help="Option of the order, e.g. threshold_gpu_s=600.",
    ),
]
