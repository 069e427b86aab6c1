"""What requests cost: a price file, and the bill of each task per month."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from prophase.errors import FormatError, InputError, MissingFileError, ParameterError, not_among
from prophase.sizing.assess.utilisation import task_names
from prophase.trace.describe.counts import instances_of
from prophase.trace.describe.part import Floats, numbers

_AMOUNTS = ("cpu_core_hour", "memory_gib_hour", "gpu_hour")
HOURS_PER_MONTH = 365.25 * 24 / 12
#: a bill of less than this is not stretched to a month
_SHORTEST_SPAN_H = 24.0


@dataclass(frozen=True)
class Prices:
    """Prices per hour of what is asked for, used or not.

    Parameters
    ----------
    cpu_core_hour, memory_gib_hour, gpu_hour : float
        Price of one core, one GiB and one GPU for an hour.
    gpu_type : mapping, optional
        Price of an hour of a GPU type, in place of ``gpu_hour``.
    currency : str, default="EUR"
        Only for display.
    """

    cpu_core_hour: float = 0.0
    memory_gib_hour: float = 0.0
    gpu_hour: float = 0.0
    gpu_type: Mapping[str, float] = field(default_factory=dict)
    currency: str = "EUR"

    def __post_init__(self) -> None:
        named = {name: getattr(self, name) for name in _AMOUNTS}
        named |= {f"gpu_type {name}": price for name, price in self.gpu_type.items()}
        for name, price in named.items():
            number = isinstance(price, int | float) and not isinstance(price, bool)
            if not number or not 0 <= price < np.inf:
                raise ParameterError(f"price {name} is {price!r}; write an amount from 0 up.")
        if not any(named.values()):
            raise ParameterError(f"the prices are all 0. Give at least one of {_listed()}.")

    def per_hour(
        self, jobs: pd.DataFrame, *, memory_gib: Floats | None = None, cores: Floats | None = None
    ) -> Floats:
        """Return what each job's request costs per hour, or what another request would cost."""
        memory = numbers(jobs, "request_memory_gib") if memory_gib is None else memory_gib
        cpu = numbers(jobs, "request_cpu_cores") if cores is None else cores
        parts = (
            cpu * self.cpu_core_hour,
            memory * self.memory_gib_hour,
            numbers(jobs, "request_gpus") * self._gpu_prices(jobs),
        )
        return np.asarray(sum(np.nan_to_num(part) for part in parts) * instances_of(jobs))

    def _gpu_prices(self, jobs: pd.DataFrame) -> Floats:
        usual = np.full(len(jobs), self.gpu_hour)
        if "gpu_type" not in jobs or not self.gpu_type:
            return usual
        told = jobs["gpu_type"].map(dict(self.gpu_type)).to_numpy(np.float64, na_value=np.nan)
        return np.where(np.isnan(told), usual, told)


def read_prices(path: Path | str) -> Prices:
    """Return the prices of a TOML file.

    Examples
    --------
    >>> file = getfixture("tmp_path") / "prices.toml"
    >>> _ = file.write_text('currency = "USD"\\nmemory_gib_hour = 0.004\\n')
    >>> read_prices(file).memory_gib_hour
    0.004
    """
    source = Path(path)
    try:
        held = tomllib.loads(source.read_text(encoding="utf-8"))
    except OSError as cause:
        raise MissingFileError(
            f"{source}: cannot be read. A price file is TOML with for example memory_gib_hour = "
            "0.004"
        ) from cause
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as cause:
        raise FormatError(f"{source}: is not TOML ({cause}).") from cause
    known = [*_AMOUNTS, "gpu_type", "currency"]
    for name in held:
        if name not in known:
            raise FormatError(not_among(f"{source}: {name!r} is no price.", name, known))
    if not isinstance(held.get("gpu_type", {}), dict):
        raise FormatError(f"{source}: gpu_type is a table of prices, such as [gpu_type] V100 = 2.5")
    try:
        return Prices(**held)
    except ParameterError as cause:
        raise FormatError(f"{source}: {cause}") from cause


def monthly_bill(
    jobs: pd.DataFrame,
    prices: Prices,
    *,
    memory_gib: Mapping[str, float],
    cores: Mapping[str, float],
) -> pd.DataFrame:
    """Return each task's cost per month, now and with other requests.

    Parameters
    ----------
    memory_gib, cores : mapping
        Task -> what it would ask for; tasks that are not there keep their request.

    Returns
    -------
    DataFrame
        ``task``, ``cost_per_month``, ``advised_cost_per_month``, ``saved_per_month``, the
        dearest first.
    """
    hours = numbers(jobs, "duration_s") / 3600
    if np.isnan(hours).all():
        raise InputError("no job has a duration_s, so nothing can be priced.")
    tasks = task_names(jobs)

    def asked(column: str, advised: Mapping[str, float]) -> Floats:
        other = tasks.map(dict(advised)).to_numpy(np.float64, na_value=np.nan)
        return np.where(np.isnan(other), numbers(jobs, column), other)

    now = prices.per_hour(jobs) * hours
    then = hours * prices.per_hour(
        jobs,
        memory_gib=asked("request_memory_gib", memory_gib),
        cores=asked("request_cpu_cores", cores),
    )
    months = months_of(jobs)
    table = pd.DataFrame(
        {
            "task": tasks.to_numpy(),
            "cost_per_month": np.nan_to_num(now) / months,
            "advised_cost_per_month": np.nan_to_num(then) / months,
        }
    )
    table = table.groupby("task", sort=False).sum().reset_index()
    table["saved_per_month"] = table["cost_per_month"] - table["advised_cost_per_month"]
    return table.sort_values("cost_per_month", ascending=False, ignore_index=True)


def months_of(jobs: pd.DataFrame) -> float:
    """Return how many months the jobs span; 1 if the span is unknown or below a day."""
    first = np.fmin(numbers(jobs, "submit_s"), numbers(jobs, "start_s"))
    last = np.fmax(numbers(jobs, "end_s"), numbers(jobs, "submit_s"))
    if np.isnan(first).all() or np.isnan(last).all():
        return 1.0
    hours = float(np.nanmax(last) - np.nanmin(first)) / 3600
    return hours / HOURS_PER_MONTH if hours >= _SHORTEST_SPAN_H else 1.0


def _listed() -> str:
    return ", ".join(_AMOUNTS)
