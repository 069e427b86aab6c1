"""Options for the rules of a cluster; their texts are read by prophase.sim.rules.reading."""

from __future__ import annotations

from typing import Annotated

import typer

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
