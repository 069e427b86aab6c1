"""Options of commands that replay a trace: which cluster, which policy, which rules."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase.cli.trace_options import BY, named_values
from prophase.errors import ParameterError, not_among
from prophase.json_types import JsonObject

if TYPE_CHECKING:
    from prophase.sim import Cluster
    from prophase.trace.trace_tables import Trace

#: what these commands decide themselves
_DECIDED = ("workload", "cluster")
_DEFAULTS = {"order": "fifo", "place": "best_fit", "queue": "skip", "estimate": "time_limit_s"}
_RULES = "Rules of the cluster"

ClusterOption = Annotated[
    str | None,
    typer.Option(
        help="A node list (file or workspace), or in short: nodes x GPUs, then GPU type, cores (c) "
        "and GiB of memory (g) per node, e.g. '50x8 V100 96c 512g, 20x2 T4'. "
        "[default: the trace's nodes]"
    ),
]
QueueOption = Annotated[
    str, typer.Option(help="Behind a job that does not fit: skip, strict, easy, conservative.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other setting, by name; repeatable.",
    ),
]
SlurmOption = Annotated[
    Path | None,
    typer.Option(
        help="Take order, queue, backfilling and choice of nodes from this slurm.conf (or its "
        "folder); options given beside it go first."
    ),
]
ByOption = Annotated[str, BY]


#: what an autoscaler is described by
SCALING = (
    "Autoscaler: 'floor=2,boot=5min,idle=10min'; the cluster is its ceiling; 'ahead=on' boots "
    "for forecast arrivals, too."
)


@dataclass(frozen=True)
class ClusterSettings:
    """Which nodes a trace is replayed on."""

    nodes: Annotated[
        Path | None,
        typer.Option(help="Node list: a workspace, a file of the same source, or a slurm.conf."),
    ] = None
    cluster: ClusterOption = None

    def of(self, trace: Trace, path: Path, source: str | None) -> Cluster:
        """Return the cluster that the options or the trace describe."""
        from prophase.cli.provenance import open_trace
        from prophase.sim import Cluster
        from prophase.sim.results import cluster_of
        from prophase.study.cluster import machines

        if self.cluster is None and self.nodes is not None:
            reader = "sacct" if self.nodes.suffix == ".conf" else source
            return Cluster.from_nodes(open_trace(self.nodes, source=reader).nodes)
        found = machines(trace, self.cluster)
        return cluster_of(trace, None, where=str(path)) if found is None else found


@dataclass(frozen=True)
class QueueSettings:
    """What happens behind a job that does not fit, and any other setting."""

    queue: QueueOption = "skip"
    settings: SetOption = None

    def values(self, *, slurm: Path | None = None, **more: Any) -> JsonObject:
        """Return settings of ``simulate()``: a slurm.conf's, then the options', then ``--set``'s.

        An option that has its default value leaves the configuration's word alone.
        """
        asked = {one.name: getattr(self, one.name) for one in fields(self)} | more
        others = other_settings(asked.pop("settings"))
        if slurm is None:
            return asked | others
        from prophase.sim.slurm_conf import find_conf, slurm_settings

        given = {name: value for name, value in asked.items() if value != _DEFAULTS.get(name)}
        folder = slurm if slurm.is_dir() else slurm.parent
        return asked | slurm_settings(find_conf(slurm), folder) | given | others


@dataclass(frozen=True)
class PolicySettings(QueueSettings):
    """Who goes first, and where to."""

    order: Annotated[
        str, typer.Option(help="Who goes first: a policy, or column:NAME, smallest first.")
    ] = "fifo"
    place: Annotated[str, typer.Option(help="Which node a job goes to.")] = "best_fit"


@dataclass(frozen=True)
class ReplaySettings(PolicySettings):
    """A policy, what backfilling plans with, and whether jobs may be left out."""

    estimate: Annotated[
        str, typer.Option(help="Column with the run times that backfilling plans with.")
    ] = "time_limit_s"
    leave_out_unfit: Annotated[
        bool,
        typer.Option(
            "--leave-out-unfit",
            help="Leave out, and count, jobs that do not fit on a cluster that is replayed.",
        ),
    ] = False


@dataclass(frozen=True)
class ReplayRules:
    """What a cluster does beside ordering and placing jobs."""

    noise: Annotated[
        float,
        typer.Option(
            rich_help_panel=_RULES,
            min=0,
            help="Estimates are off by a lognormal factor of this sigma.",
        ),
    ] = 0.0
    backfill: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RULES,
            help="Backfilling: every, depth, per_user, window, e.g. 'every=30s,depth=100'.",
        ),
    ] = None
    preempt: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RULES,
            help="Push out jobs that come later: on, or 'checkpoint=10min,restart=30s'.",
        ),
    ] = None
    share: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RULES,
            help="Sharing of GPUs: 'per_gpu=2,slowdown=0.28'; per_gpu=1: whole GPUs only.",
        ),
    ] = None
    speeds: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RULES,
            help="Speed of GPU types: a table, 'measured=PATH,reference=v100', or own.",
        ),
    ] = None
    scaling: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RULES,
            help=SCALING,
        ),
    ] = None
    failures: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RULES,
            help="Nodes fail: 'mtbf=30d,mttr=2h'.",
        ),
    ] = None
    calendar: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RULES,
            help="Planned absences of nodes: a table of from_s, to_s, node_id or share.",
        ),
    ] = None
    ladder: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RULES,
            help="Retry with more memory after a kill: on, or 'factor=2,fails_after=0.5'.",
        ),
    ] = None
    quotas: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RULES,
            help="What users, queues, groups or arrays (parent_id) may hold: a table of user, "
            "queue ..., gpus, jobs ...",
        ),
    ] = None
    hours: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RULES,
            help="Hours in which only short jobs start: a table of from_s, to_s, longest_s.",
        ),
    ] = None
    shares: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RULES,
            help="What users and accounts own, for fair orders: a table of user, share.",
        ),
    ] = None
    half_life: Annotated[
        str,
        typer.Option(
            rich_help_panel=_RULES,
            help="Usage counts half after this time in fair orders; 0: never.",
        ),
    ] = "0"
    depends: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RULES,
            metavar="COLUMN",
            help="Jobs wait for others: the column with their ids, such as attr_parents, or "
            "'column=NAME,think=NAME' with the seconds between the last end and the submission.",
        ),
    ] = None
    defer: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RULES,
            help="Hold jobs back for a cleaner hour: 'table=carbon.csv,slack=12h,only=COLUMN'.",
        ),
    ] = None
    elastic: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RULES,
            help="Jobs run with more or fewer GPUs: 'min=1,max=8,serial=0.05,restart=30s'.",
        ),
    ] = None
    cohorts: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RULES,
            help="Quotas that queues lend each other: a table of queue, cohort, gpus, borrow, "
            "lend.",
        ),
    ] = None
    topology: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RULES,
            help="Jobs spread over nodes and racks run longer: 'nodes=1.1,domains=1.4'.",
        ),
    ] = None
    demand: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RULES,
            help="Jobs hold what each phase of their run needs: a table of job_id, after_s, "
            "memory_gib, cpu_cores, as phase label writes it, or 'table=FILE,ahead=1'.",
        ),
    ] = None
    mig: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RULES,
            help="Jobs ask for MIG profiles (column attr_mig_profile): 'on', or "
            "'layout=3g.20gb+3g.20gb,repartition=empty,column=NAME'.",
        ),
    ] = None
    reservations: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RULES,
            help="Nodes kept for some: a table of from_s, to_s, node_id or nodes, and user, group "
            "or queue.",
        ),
    ] = None
    order_option: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=_RULES,
            metavar="NAME=VALUE",
            help="Option of the order, e.g. threshold_gpu_s=600.",
        ),
    ] = None

    def values(self) -> JsonObject:
        """Return the rules that were named, by the names of ``simulate()``."""
        named = {one.name: getattr(self, one.name) for one in fields(self)}
        half_life, options = named.pop("half_life"), named.pop("order_option")
        named |= {
            "noise": self.noise or None,
            "half_life_s": None if half_life == "0" else half_life,
            "order_options": typed_values(options, "--order-option") or None,
        }
        return {name: value for name, value in named.items() if value is not None}


def other_settings(pairs: Sequence[str] | None) -> JsonObject:
    """Read ``--set name=value``: numbers, true and false, lists as in TOML, else text.

    Examples
    --------
    >>> other_settings(["seed=7", "place=first_fit"])
    {'seed': 7, 'place': 'first_fit'}
    """
    from prophase.sim.simulation import replay_keywords

    known = [name for name in replay_keywords() if name not in _DECIDED]
    found = typed_values(pairs, "--set")
    for name in found:
        if name not in known:
            said = f"--set {name}: simulate() has no setting {name!r}."
            raise ParameterError(not_among(said, name, known, heading="Settings"))
    return found


def typed_values(pairs: Sequence[str] | None, option: str) -> JsonObject:
    """Read NAME=VALUE: numbers, true and false, lists as in TOML, else text."""
    found: JsonObject = {}
    for name, text in named_values(pairs, option).items():
        try:
            found[name] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            found[name] = text
    return found
