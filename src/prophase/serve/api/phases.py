"""Phases: what is a container doing, and what comes next?"""

from __future__ import annotations

from typing import Annotated

import pandas as pd
from fastapi import APIRouter, Body, Depends
from pydantic import BaseModel, ConfigDict, Field

from prophase.errors import InputError
from prophase.json_types import JsonObject
from prophase.phase.detector import labels_as_json, phases_as_json
from prophase.plain import finite
from prophase.provenance import with_provenance
from prophase.serve.dependencies import LoadedWorkspaceNow, require
from prophase.serve.json_bodies import JsonRoute

router = APIRouter(route_class=JsonRoute, tags=["phases"], dependencies=[Depends(require("read"))])

Number = float | None


class SeriesSamples(BaseModel):
    """Samples of one series: times, and a list of values per metric."""

    model_config = ConfigDict(extra="forbid")

    series_id: Annotated[str, Field(min_length=1, max_length=200)] = "series"
    time_s: Annotated[list[float], Field(min_length=1, max_length=100_000)]
    metrics: Annotated[
        dict[str, Annotated[list[Number], Field(max_length=100_000)]],
        Field(min_length=1, max_length=100),
    ]


class PostedSeries(BaseModel):
    """Series to find the phases of."""

    model_config = ConfigDict(extra="forbid")

    series: Annotated[list[SeriesSamples], Field(min_length=1, max_length=100)]
    samples: Annotated[bool, Field(description="Also the phase of every sample.")] = True


_EXAMPLE = {
    "series": [
        {
            "series_id": "pod-1",
            "time_s": [0, 30, 60, 90],
            "metrics": {"cpu_cores": [0.2, 3.9, 4.1, 0.1], "memory_gib": [1, 6, 6.2, 1.5]},
        }
    ]
}


@router.post("/phases")
def phases(
    posted: Annotated[PostedSeries, Body(examples=[_EXAMPLE])], held: LoadedWorkspaceNow
) -> JsonObject:
    """Give every sample of posted series its phase; no phase depends on a later sample.

    The summary is that of `prophase phase label --format json`; `samples` holds what it writes
    with `--out`.
    """
    detector = held.phases
    labels = detector.label(_usage(posted.series))
    told = labels_as_json(detector, labels)
    if posted.samples:
        told["labels"] = labels.to_dict("records")
    return with_provenance(finite(told), data_hash=detector.data_hash_)


@router.get("/phases")
def known_phases(held: LoadedWorkspaceNow) -> JsonObject:
    """Say which metrics phases are found in, what each phase uses, and what follows it.

    The same as `prophase phase show --format json`.
    """
    detector = held.phases
    told: JsonObject = finite(phases_as_json(detector))
    return with_provenance(told, data_hash=detector.data_hash_)


def _usage(series: list[SeriesSamples]) -> pd.DataFrame:
    parts = []
    for one in series:
        for name, values in one.metrics.items():
            if len(values) != len(one.time_s):
                raise InputError(
                    f"series {one.series_id}: {name} has {len(values):,} values for "
                    f"{len(one.time_s):,} times. Give one per time; null where it is unknown."
                )
        columns = {name: pd.Series(v, dtype="float64") for name, v in one.metrics.items()}
        taken = {"series_id", "time_s"} & set(columns)
        if taken:
            raise InputError(f"series {one.series_id}: {taken.pop()} cannot name a metric.")
        times = pd.Series(one.time_s, dtype="float64")
        parts.append(pd.DataFrame({"series_id": one.series_id, "time_s": times, **columns}))
    table = pd.concat(parts, ignore_index=True)
    if table.duplicated(["series_id", "time_s"]).any():
        raise InputError("two samples of a series have the same time. Keep one of them.")
    return table
