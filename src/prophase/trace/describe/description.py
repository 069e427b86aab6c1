"""Describe a trace: every part that its columns allow, and a reason for the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from prophase import units
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.result.csv_form import flat_rows
from prophase.short_form import ShortForm
from prophase.trace.describe.arrivals import Arrivals, arrival_times, describe_arrivals
from prophase.trace.describe.column_arrays import NotComputable, has_values, numbers
from prophase.trace.describe.distribution import (
    Distribution,
    DurationSummary,
    Waits,
    describe_durations,
    describe_waits,
)
from prophase.trace.describe.job_classes import Classes, describe_classes
from prophase.trace.describe.job_counts import JobCounts, MissingColumn, count_jobs, count_missing
from prophase.trace.describe.laws.arrival_fit import ArrivalLaws, fit_arrivals
from prophase.trace.describe.laws.service_fit import ServiceLaws, fit_service
from prophase.trace.describe.load import LoadOverTime, describe_load
from prophase.trace.describe.nodes_and_usage import (
    Inventory,
    UsageSeries,
    describe_nodes,
    describe_usage,
)
from prophase.trace.describe.recurrence import Recurrence, describe_recurrence
from prophase.trace.describe.trace_clock import TimeSpan, span_of
from prophase.trace.describe.utilisation import (
    Utilisation,
    describe_requests,
    describe_utilisation,
)
from prophase.trace.trace_tables import Trace
from prophase.version import __version__


@dataclass(frozen=True, repr=False)
class Description(ShortForm):
    """What a trace looks like; every part may be :class:`NotComputable` with its reason."""

    source: str
    data_hash: str
    clock: str
    version: str
    #: table -> number of rows
    tables: Mapping[str, int]
    missing: tuple[MissingColumn, ...]
    counts: JobCounts | NotComputable
    span: TimeSpan | NotComputable
    arrivals: Arrivals | NotComputable
    durations: DurationSummary | NotComputable
    waits: Waits | NotComputable
    classes: Classes | NotComputable
    requests: Mapping[str, Distribution] | NotComputable
    utilisation: Utilisation | NotComputable
    recurrence: Recurrence | NotComputable
    arrival_laws: ArrivalLaws | NotComputable
    service_laws: ServiceLaws | NotComputable
    usage: UsageSeries | NotComputable
    nodes: Inventory | NotComputable
    load: LoadOverTime | NotComputable

    @property
    def not_computable(self) -> dict[str, str]:
        """Return the parts that are silent, each with its reason."""
        return {
            name: part.reason
            for name, part in vars(self).items()
            if isinstance(part, NotComputable)
        }

    def to_dict(self) -> JsonObject:
        """Return everything as JSON knows it; unknown numbers are None, never NaN."""
        whole: JsonObject = finite(vars(self))
        return whole

    @property
    def table(self) -> pd.DataFrame:
        """Every single number or text: the part it belongs to, what it is, its value."""
        return pd.DataFrame(flat_rows(self.to_dict()), columns=["part", "what", "value"])

    def summary(self) -> list[str]:
        """Return counts, span, run times and waits, a line each."""
        said = [f"{self.source}: {', '.join(f'{n:,} {name}' for name, n in self.tables.items())}"]
        if isinstance(self.span, TimeSpan):
            said.append(f"{self.span.days:,.1f} days, {self.span.first} to {self.span.last}")
        for what, part in (("run time", self.durations), ("wait", self.waits)):
            if isinstance(part, DurationSummary):
                half, most = (units.duration(part.values.at(share)) for share in ("p50", "p90"))
                said.append(f"{what}: half of the jobs up to {half}, 90 % up to {most}")
        if self.not_computable:
            said.append(f"not computable: {', '.join(self.not_computable)}")
        return said


def describe(
    trace: Trace,
    *,
    short_below_s: float = 3600.0,
    low_gpus: float = 1.0,
    laws: bool = True,
    fit_sample: int = 50_000,
    random_state: int = 0,
) -> Description:
    """Return counts, distributions, recurrence, utilisation and fitted laws of a trace.

    Parameters
    ----------
    short_below_s : float, default=3600
        Jobs that ran for less belong to the class *short*.
    low_gpus : float, default=1
        Jobs that ask for at most this many GPUs belong to the class *low GPU*.
    laws : bool, default=True
        Fit arrival and service laws; takes most of the time on small traces.
    fit_sample : int, default=50_000
        Fit laws to at most this many durations; arrival laws to at most 20,000 gaps.
    random_state : int, default=0
        Seed of the samples and of the tests.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job_id": ["a", "b"], "duration_s": [60.0, 7200.0]})
    >>> found = describe(Trace({"jobs": jobs}, "csv", "0" * 64))
    >>> found.durations.values.mean
    3630.0
    >>> found.not_computable["arrivals"]
    'no submit times'
    """
    silent = NotComputable("laws were not asked for")
    parts: JsonObject = {
        "usage": NotComputable("the trace has no usage table"),
        "nodes": NotComputable("the trace has no node table"),
    }
    if "usage" in trace.tables:
        parts["usage"] = describe_usage(trace.usage)
    if "nodes" in trace.tables:
        parts["nodes"] = describe_nodes(trace.nodes)
    jobs = trace.tables.get("jobs")
    if jobs is None or not len(jobs):
        absent = NotComputable(
            "the trace has no job table" if jobs is None else "the job table is empty"
        )
        parts |= dict.fromkeys(_JOB_PARTS, absent)
    else:
        parts |= {
            "counts": count_jobs(jobs),
            "span": span_of(jobs, trace.clock),
            "arrivals": describe_arrivals(jobs, trace.clock),
            "durations": describe_durations(jobs),
            "waits": describe_waits(jobs),
            "classes": describe_classes(
                jobs, short_below_s=short_below_s, low_gpus=low_gpus, clock=trace.clock
            ),
            "requests": describe_requests(jobs),
            "utilisation": describe_utilisation(jobs),
            "load": describe_load(jobs, trace.tables.get("nodes")),
            "recurrence": describe_recurrence(jobs),
            "arrival_laws": _arrival_laws(jobs, trace.clock, random_state) if laws else silent,
            "service_laws": (_service_laws(jobs, fit_sample, random_state) if laws else silent),
        }
    return Description(
        source=trace.source,
        data_hash=trace.data_hash,
        clock=trace.clock,
        version=__version__,
        tables={name: len(table) for name, table in trace.tables.items()},
        missing=count_missing(trace.tables),
        **parts,
    )


_JOB_PARTS = (
    "counts span arrivals durations waits classes requests utilisation load "
    "recurrence arrival_laws service_laws"
).split()


def _arrival_laws(jobs: pd.DataFrame, clock: str, seed: int) -> ArrivalLaws | NotComputable:
    if not has_values(jobs, "submit_s"):
        return NotComputable("no submit times")
    return fit_arrivals(arrival_times(jobs)[0], clock=clock, random_state=seed)


def _service_laws(jobs: pd.DataFrame, sample: int, seed: int) -> ServiceLaws | NotComputable:
    if not has_values(jobs, "duration_s"):
        return NotComputable("no durations")
    return fit_service(numbers(jobs, "duration_s"), sample=sample, random_state=seed)
