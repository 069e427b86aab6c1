"""prophase size replay: what would sizers have wasted on a recorded trace?"""

from __future__ import annotations

from typing import Annotated

import typer

from prophase import units
from prophase.cli.output import Format, FormatOption, finite, progress_bar, show_result
from prophase.cli.shared_options import SeedOption
from prophase.cli.sizing_options import GroupOption, ResourceOption, RiskOption
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.json_types import JsonObject
from prophase.result import Result


def command(
    path: TraceArgument,
    sizers: Annotated[
        str, typer.Option(help="Names joined by commas, or all.")
    ] = "request,maximum,krr,vpa,witt-waste,default",
    protocol: Annotated[
        str,
        typer.Option(help="online: learn after each task. timeline: when it ended. warm: later."),
    ] = "online",
    track: Annotated[
        str, typer.Option(help="input: bytes read are known before the run. strict: they are not.")
    ] = "input",
    risk: RiskOption = None,
    node: Annotated[
        float | None,
        typer.Option(help="The most a task can get; the largest request if left out."),
    ] = None,
    resource: ResourceOption = "auto",
    by: GroupOption = None,
    seed: SeedOption = 0,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Replay a trace through sizers and count what each would have wasted.

    A request that holds wastes what lies above the peak, for as long as the task ran. One
    below the peak is killed and lost as a whole, at the end of the run (waste_h) or halfway
    (waste_half_h), and the sizer is asked again. Relative waste is against the users' requests.

    Examples:

    `prophase size replay trace.txt --sizers request,krr,default`

    `prophase size replay ws --protocol timeline --track strict --format json`
    """
    from prophase.cli.provenance import open_trace
    from prophase.sizing.registry import SIZERS
    from prophase.sizing.replays.comparison import compare

    names = list(SIZERS) if sizers == "all" else [one.strip() for one in sizers.split(",")]
    with progress_bar() as show:
        show("reading", None)
        jobs = open_trace(path, source=source, tables=["jobs"], by=by).jobs
        found = compare(
            jobs,
            names,
            protocol=protocol,  # type: ignore[arg-type]  # checked there
            track=track,  # type: ignore[arg-type]
            risk=None if risk is None else units.parse_share(risk, where="--risk", below_one=True),
            node=node,
            resource=resource,
            seed=seed,
            show=lambda name, percent: show(name, percent),
        )
    rows = found["sizers"] if format is not Format.table else [_shown(r) for r in found["sizers"]]
    show_result(
        Result.of_rows(
            "size-replay",
            [finite(row) for row in rows],
            values=finite(found),
            notes=_remarks(found),
        ),
        format,
    )


def _shown(row: JsonObject) -> JsonObject:
    return {
        "sizer": row["sizer"],
        "relative": round(row["relative"], 4),
        "waste_h": row["waste_h"],
        "waste_half_h": row["waste_half_h"],
        "failures": int(row["failures"]),
        "oom_pct": 100 * row["oom_share"],
        "used_pct": 100 * row["utilisation"],
        "most_attempts": int(row["most_attempts"]),
        "predict_ms": round(row["predict_ms"], 3),
        "observe_ms": round(row["observe_ms"], 3),
    }


def _remarks(found: JsonObject) -> list[str]:
    tasks = int(found["sizers"][0]["tasks"])
    said = [
        f"{tasks:,} tasks, {found['resource']}, {found['protocol']} protocol, {found['track']} "
        "track; waste in "
        f"{found['unit']}; at most {found['node']:.4g} per task.",
        found["grouped"],
    ]
    unfit = max(int(row["unfit"]) for row in found["sizers"])
    if unfit:
        said.append(
            f"{unfit:,} tasks need more than that: each of their attempts is lost. Set --node."
        )
    said += [f"Left out, {reason}: {count:,} jobs." for reason, count in found["left_out"].items()]
    return said
