"""Prometheus as a source of usage series, over its plain HTTP interface."""

from __future__ import annotations

import json
import math
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from prophase.errors import InputError, ParameterError

#: a Prometheus server refuses more points than this per series and answer
_MOST_POINTS = 11_000
_TIMEOUT_S = 30.0


def usage_from_prometheus(
    url: str,
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
    url : str
        Address of the server, such as ``http://localhost:9090``.
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
    whole: pd.DataFrame | None = None
    for metric, query in queries.items():
        rows = [
            row
            for begin, end in _spans(start_s, end_s, step_s)
            for row in _range(url, query, begin, end, step_s, label)
        ]
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
    url: str,
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
    # whole steps, so that every question asks for the same times
    last_s = math.floor((now() if since_s is None else since_s) / step_s) * step_s
    while True:
        end_s = math.floor(now() / step_s) * step_s
        if end_s > last_s:
            usage = usage_from_prometheus(
                url, queries, start_s=last_s + step_s, end_s=end_s, step_s=step_s, label=label
            )
            for row in usage.sort_values(["time_s", "series_id"]).to_dict("records"):
                values = {metric: float(row[metric]) for metric in queries}
                yield str(row["series_id"]), float(row["time_s"]), values
            last_s = end_s
        if not go_on():
            return
        wait(max(last_s + step_s - now(), 0.2))


def _spans(start_s: float, end_s: float, step_s: float) -> Iterator[tuple[float, float]]:
    begin = start_s
    while begin <= end_s:
        end = min(begin + (_MOST_POINTS - 1) * step_s, end_s)
        yield begin, end
        begin = end + step_s


def _range(
    url: str, query: str, start_s: float, end_s: float, step_s: float, label: str
) -> Iterator[tuple[str, float, float]]:
    asked = urllib.parse.urlencode({"query": query, "start": start_s, "end": end_s, "step": step_s})
    answer = _asked(f"{url.rstrip('/')}/api/v1/query_range?{asked}", url, query)
    for series in answer.get("data", {}).get("result", []):
        labels = series.get("metric", {})
        if label not in labels:
            raise InputError(
                f"Prometheus: a series of {query!r} has no label {label!r}, but "
                f"{', '.join(labels) or 'none'}. Name one with --by, or keep it in the query."
            )
        for at, value in series.get("values", []):
            yield str(labels[label]), float(at), float(value)


def _asked(address: str, url: str, query: str) -> dict[str, Any]:
    if not address.startswith(("http://", "https://")):
        raise ParameterError(f"{url}: write the address as http://HOST:PORT.")
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT_S) as reply:
            found = json.loads(reply.read())
    except urllib.error.HTTPError as cause:
        raise InputError(f"Prometheus at {url} refused {query!r}: {_reason(cause)}.") from cause
    except (urllib.error.URLError, TimeoutError, ConnectionError) as cause:
        reason = getattr(cause, "reason", cause)
        raise InputError(
            f"Prometheus at {url} does not answer ({reason}). Check the address and that it runs."
        ) from cause
    except ValueError as cause:
        raise InputError(
            f"{url}: does not answer as Prometheus does. Check the address."
        ) from cause
    if not isinstance(found, dict) or found.get("status") != "success":
        raise InputError(f"Prometheus at {url} did not answer {query!r} with success.")
    return found


def _reason(cause: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(cause.read())["error"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {cause.code}"
