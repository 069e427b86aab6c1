"""prophase digest: the week of each user and account, as mail text or Markdown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.atomic_files import write_whole
from prophase.cli.output import Format, FormatOption, say, show_result
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.errors import ParameterError

if TYPE_CHECKING:
    from prophase.sizing.recommender import Recommender


def command(
    path: TraceArgument,
    accounts: Annotated[
        bool, typer.Option("--accounts", help="One page per account instead of one per user.")
    ] = False,
    span: Annotated[
        str, typer.Option(help=f"How far to go back from the last job, {units.DURATION_HELP}.")
    ] = "7d",
    whose: Annotated[str | None, typer.Option(help="Only this user or account.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write a mail (.txt) or Markdown (.md) file each into this folder."),
    ] = None,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Say what each user or account reserved and did not use, lost to kills, and saved.

    With a ledger in the workspace the digest says what recommendations saved; with a learnt
    workspace it names the one change that is worth most.

    Examples:

    `prophase digest ws --accounts`

    `prophase digest ws --whose ann --format markdown`

    `prophase digest ws --out mails`
    """
    from prophase.cli.provenance import open_trace
    from prophase.result.markdown import render
    from prophase.study.digest import digest_result, digests, mail
    from prophase.study.ledger.ledger import Ledger
    from prophase.study.submission.job_recommender import JobRecommender
    from prophase.trace.workspace import Workspace

    per = "account" if accounts else "user"
    span_s = units.parse_duration(span, bare="s", where="--span", positive=True)
    jobs = open_trace(path, source=source, tables=["jobs"]).jobs
    at_home = source is None and Workspace.is_at(path)
    kept = _recommendations(path) if at_home else None
    found = digests(
        jobs,
        by=per,
        span_s=span_s,
        ledger=Ledger(path) if at_home else None,
        recommender=JobRecommender(requests=kept) if kept is not None else None,
    )
    if whose is not None:
        known = [one.name for one in found]
        found = [one for one in found if one.name == whose]
        if not found:
            raise ParameterError.among(
                f"--whose {whose}: no job of the span is theirs.", whose, known
            )
    if out is None:
        show_result(digest_result(found, by=per, span_s=span_s), format)
        return
    for one in found:
        name = re.sub(r"[^A-Za-z0-9_.-]+", "_", one.name).strip(".") or "unnamed"
        if format is Format.markdown:
            write_whole(out / f"{name}.md", render(digest_result([one], by=per, span_s=span_s)))
        else:
            write_whole(out / f"{name}.txt", mail(one, span_s=span_s))
    say(f"Wrote {len(found):,} files into {out}.")


def _recommendations(workspace: Path) -> Recommender | None:
    from prophase.errors import ModelFileError
    from prophase.sizing.recommender import Recommender
    from prophase.trace.workspace_paths import REQUESTS

    if not (workspace / REQUESTS).is_file():
        say("Nothing is recommended: prophase learn has not been run.")
        return None
    try:
        return Recommender.load(workspace / REQUESTS)
    except ModelFileError as error:
        say(str(error))
        return None
