"""Usage series from Prometheus: of a span of time, or as samples appear."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping

import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.integrations.prometheus.client import Prometheus


def usage_from_prometheus(
    url: str | Prometheus,
    queries: Mapping[str, str],
    *,
    start_s: float,
    end_s: float,
    step_s: float,
    label: str = "pod",
) -> pd.DataFrame:
    """Return a usage table: one query per metric, one series per value of a label.

    Parameters
    ----------
    url : str or Prometheus
        Address of the server, such as ``http://localhost:9090``, or the server itself.
    queries : mapping
        Metric of the usage table -> PromQL expression, such as
        ``{"cpu_cores": "sum by (pod) (rate(container_cpu_usage_seconds_total[1m]))"}``.
    start_s, end_s, step_s : float
        Unix times, and seconds between samples. Long spans are asked for in parts.
    label : str, default="pod"
        Label whose value names a series. Results must differ in it.
    """
    if not queries:
        raise ParameterError("no query was given. Give one per metric: METRIC=EXPRESSION.")
    if not step_s > 0 or not end_s >= start_s:
        raise ParameterError("Prometheus: the step is above 0 and the end not before the start.")
    server = url if isinstance(url, Prometheus) else Prometheus(url)
    whole: pd.DataFrame | None = None
    for metric, query in queries.items():
        rows = list(_samples(server, query, start_s, end_s, step_s, label))
        part = pd.DataFrame(rows, columns=["series_id", "time_s", metric])
        if part.duplicated(["series_id", "time_s"]).any():
            raise InputError(
                f"Prometheus: {query!r} gives several series per {label}. Add them up: "
                f"sum by ({label}) (...)."
            )
        keys = ["series_id", "time_s"]
        whole = part if whole is None else whole.merge(part, on=keys, how="outer")
    assert whole is not None
    return whole.sort_values(["series_id", "time_s"], ignore_index=True)


def follow_prometheus(
    url: str | Prometheus,
    queries: Mapping[str, str],
    *,
    step_s: float,
    label: str = "pod",
    since_s: float | None = None,
    now: Callable[[], float] = time.time,
    wait: Callable[[float], None] = time.sleep,
    go_on: Callable[[], bool] = lambda: True,
) -> Iterator[tuple[str, float, dict[str, float]]]:
    """Yield samples as (series, time, values) when they appear, in order of time.

    Parameters
    ----------
    since_s : float, optional
        Unix time to begin at; now if not given.
    now, wait, go_on : callable
        The clock, how to wait for it, and whether to ask again.
    """
    server = url if isinstance(url, Prometheus) else Prometheus(url)
    # whole steps, so that every question asks for the same times
    last_s = math.floor((now() if since_s is None else since_s) / step_s) * step_s
    while True:
        end_s = math.floor(now() / step_s) * step_s
        if end_s > last_s:
            usage = usage_from_prometheus(
                server, queries, start_s=last_s + step_s, end_s=end_s, step_s=step_s, label=label
            )
            for row in usage.sort_values(["time_s", "series_id"]).to_dict("records"):
                values = {metric: float(row[metric]) for metric in queries}
                yield str(row["series_id"]), float(row["time_s"]), values
            last_s = end_s
        if not go_on():
            return
        wait(max(last_s + step_s - now(), 0.2))


def _samples(
    server: Prometheus, query: str, start_s: float, end_s: float, step_s: float, label: str
) -> Iterator[tuple[str, float, float]]:
    for series in server.range(query, start_s, end_s, step_s):
        if label not in series.labels:
            raise InputError(
                f"Prometheus: a series of {query!r} has no label {label!r}, but "
                f"{', '.join(series.labels) or 'none'}. Name one with --series-label, or "
                "keep it in the query."
            )
        for at, value in zip(series.times_s, series.values, strict=True):
            yield series.labels[label], at, value
