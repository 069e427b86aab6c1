"""Profiles as plain values, for the command line and the service."""

from __future__ import annotations

from collections.abc import Sequence

from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.clusters.profiles import Profile


def profiles_as_json(
    profiler: WorkloadProfiler, profiles: Sequence[Profile] | None = None
) -> dict[str, object]:
    """Return how profiles were learned and what each is.

    Parameters
    ----------
    profiles : sequence of Profile, optional
        The profiles as they are now, if jobs were counted in since they were learned.
    """
    summary: JsonObject = finite(
        {
            "generator": profiler.generator_settings_,
            "transform": profiler.transform_.name,
            "leaking": profiler.leaking,
            "columns": list(profiler.columns_),
            "statistics": profiler.statistics_,
            "notes": list(profiler.notes_),
            "profiles": [one.to_dict() for one in profiles or profiler.profiles_],
        }
    )
    return summary
