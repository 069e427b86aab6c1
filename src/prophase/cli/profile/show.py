"""prophase profile show: what is profile 8?"""

from __future__ import annotations

from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, show_result
from prophase.cli.profile.options import ModelArgument, open_profiles

#: lets -1, the number of the outliers, through
CONTEXT = {"ignore_unknown_options": True}


def command(
    path: ModelArgument,
    profile: Annotated[
        str | None, typer.Argument(help="Number or name of one profile; -1 or outliers. All else.")
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """Say what a profile is: its metadata, and what its jobs use; or list all profiles.

    JSON holds all there is: quantiles, histograms, trends, seasons, anomalous jobs.

    Examples:

    `prophase profile show ws`

    `prophase profile show ws 8`

    `prophase profile show profiles.model outliers --format json`
    """
    from prophase.profile.clusters.profile_result import profile_result, profiles_result

    profiler = open_profiles(path)
    one = None if profile is None else profiler.profile(profile)
    show_result(profiles_result(profiler) if one is None else profile_result(one), format)
