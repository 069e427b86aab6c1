"""prophase runs set: change a setting while the campaign runs."""

from __future__ import annotations

from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, emit
from prophase.cli.runs.options import DEFAULT_CAMPAIGN, CampaignOption, opened, who
from prophase.plural import counted

_ADVICE = "requests of the 1st, 2nd, 3rd try that a sizer advises; advice=default forgets them"


def command(
    assignments: Annotated[
        list[str] | None, typer.Argument(help="KEY=VALUE; without any, all settings are shown.")
    ] = None,
    campaign: CampaignOption = DEFAULT_CAMPAIGN,
    format: FormatOption = Format.table,
) -> None:
    """Change settings; they hold from the next cycle on, without a restart.

    Examples:

    `prophase runs set execute.parallel=4 execute.interval_s=30`

    `prophase runs set task.train.memory_gib=16`

    `prophase runs set advice=advice.json`, written by `prophase size ws --format json`
    """
    from prophase.runs.store.settings import known_setting

    with opened(campaign) as held:
        for assignment in assignments or ():
            held.set(assignment, actor=who())
        settings = held.settings.read()
        source, ladders = held.settings.advice()
    touched = {assignment.partition("=")[0].strip() for assignment in assignments or ()}
    rows = [
        {"setting": key, "value": value, "what": known_setting(key).text}
        for key, value in settings.items()
        if not touched or key in touched
    ]
    if not touched or "advice" in touched:
        told = f"{source}: {counted(len(ladders), 'task')}" if source else None
        rows.append({"setting": "advice", "value": told, "what": _ADVICE})
    emit(rows, format)
