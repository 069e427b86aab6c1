"""prophase nodes: which type of node suits a job, or a profile?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import Format, FormatOption, finite, show_result
from prophase.cli.settings import Formerly
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.result import Result

if TYPE_CHECKING:
    import pandas as pd


def command(
    path: TraceArgument,
    job: Annotated[
        Path | None,
        typer.Option("--job-file", help="Rank for jobs like the one of this file, as for ask."),
        Formerly("--job"),
    ] = None,
    by_profile: Annotated[
        bool,
        typer.Option(
            "--by-profile", help="With --job-file: alike are jobs of the profile it will have."
        ),
    ] = False,
    profile: Annotated[int | None, typer.Option(help="Number of a profile.")] = None,
    profiles: Annotated[
        bool,
        typer.Option("--per-profile", help="One row per profile of the workspace and node type."),
        Formerly("--profiles"),
    ] = False,
    column: Annotated[
        str | None,
        typer.Option(
            "--node-type", help="Column with the node type. [default: the first there is]"
        ),
        Formerly("--column"),
    ] = None,
    enough: Annotated[int, typer.Option(help="Fewest jobs of a type that gets a rank.")] = 30,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Rank node types by how long alike jobs ran on them, with 90 % intervals of the median.

    A type ranks behind those whose whole interval is quicker than its own; score is 100 for the
    shortest median. Types on which no job asked for as much as the job of --job-file get no rank.
    Jobs choose their nodes and are not assigned at random, so a rank shows association, not cause.

    Examples:

    `prophase nodes ws --job-file job.yaml`

    `prophase nodes ws --job-file job.yaml --by-profile`

    `prophase nodes ws --profile 8 --node-type after_gpu_type`

    `prophase nodes ws --per-profile`
    """
    from prophase.cli.provenance import open_trace
    from prophase.profile.node_types import (
        jobs_of_profile,
        rank_for_job,
        rank_node_types,
    )

    if (job is not None) + (profile is not None) + profiles > 1:
        raise ParameterError(
            "--job-file, --profile and --per-profile are different questions. Ask one of them."
        )
    if by_profile and job is None:
        raise ParameterError("--by-profile needs --job-file: the job whose profile is predicted.")
    history = open_trace(path, source=source, tables=["jobs"]).jobs
    said = ""
    if profiles:
        _affinity(path, history, column, enough, format)
        return
    if job is not None:
        from prophase.profile.submission.job_file import read_submissions

        asked = read_submissions(job)[0]
        predicted = None
        if by_profile:
            from prophase.cli.profile.options import open_profiles, profile_classifier

            profiler = open_profiles(path)
            classifier, said = profile_classifier(path, None, profiler, 0)
            predicted = profiler, classifier
        rows, alike = rank_for_job(
            history, dict(asked.columns), column=column, enough=enough, predicted=predicted
        )
    else:
        chosen, alike = (history, f"all {len(history):,} jobs")
        if profile is not None:
            from prophase.cli.profile.options import open_profiles

            chosen, alike = jobs_of_profile(open_profiles(path), history, profile)
        rows = rank_node_types(chosen, column=column, enough=enough)
    told: list[JsonObject] = [finite(row) for row in rows]
    thin = sum(not row["enough"] for row in rows)
    remarks = [f"From {alike}.", *([said] if said else [])]
    if thin:
        few = counted(thin, "type has", "types have")
        remarks.append(f"{few} fewer than {enough} finished jobs and no rank.")
    shown = [{key: value for key, value in row.items() if key != "enough"} for row in told]
    if format is Format.table:
        # intervals of the metrics would make the table too wide
        ends = ("_pct_low", "_pct_high", "_gib_low", "_gib_high", "_cores_low", "_cores_high")
        shown = [{k: v for k, v in row.items() if not k.endswith(ends)} for row in shown]
    show_result(
        Result.of_rows("nodes", shown, values={"alike": alike, "node_types": told}, notes=remarks),
        format,
    )


def _affinity(
    path: Path, history: pd.DataFrame, column: str | None, enough: int, format: Format
) -> None:
    """Show use and duration of every profile on every type of node."""
    from prophase.cli.profile.options import open_profiles
    from prophase.profile.node_types import node_type_affinity

    profiler = open_profiles(path)
    table = node_type_affinity(history, profiler.predict(history), column=column, enough=enough)
    names = {one.profile: one.name for one in profiler.profiles_}
    rows = [
        {**finite(row), "profile": names.get(row["profile"], str(row["profile"]))}
        for row in table.to_dict("records")
    ]
    thin = sum(not row["enough"] for row in rows)
    remarks = [
        "relative_duration: median on that type over the median of the profile; below 1 is faster "
        "than usual. Jobs choose their nodes, so this is association, not cause.",
    ]
    if thin:
        remarks.append(f"{counted(thin, 'row')} with fewer than {enough} jobs: too few to tell.")
    show_result(
        Result.of_rows("nodes-affinity", rows, values={"affinity": rows}, notes=remarks), format
    )
