"""Prices of GPU, core and memory hours, from a TOML or CSV file."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pandas as pd

from prophase.errors import FormatError, InputError, MissingFileError
from prophase.json_types import JsonMapping, JsonObject

_OTHER = "default"
_FORM = (
    "Write currency, core_hour, gib_hour and a table gpu_hour with a price per GPU type "
    f"({_OTHER} for all others); as CSV the columns resource (gpu, core, gib), gpu_type, price."
)
_COLUMNS = {"resource", "price"}
#: price lists that a workspace may keep
KEPT = ("prices.toml", "prices.csv")


@dataclass(frozen=True)
class Prices:
    """What an hour costs.

    Attributes
    ----------
    gpu_hour : dict
        GPU type -> price; ``"default"`` is for types that are not named.

    Examples
    --------
    >>> prices = Prices({"V100": 2.5, "default": 1.0}, core_hour=0.03, currency="EUR")
    >>> prices.of_gpu("V100"), prices.of_gpu("T4")
    (2.5, 1.0)
    """

    gpu_hour: Mapping[str, float] = field(default_factory=dict)
    core_hour: float = 0.0
    gib_hour: float = 0.0
    currency: str = ""

    def of_gpu(self, kind: str) -> float:
        """Return the price of a GPU type, or say that there is none."""
        price = self.gpu_hour.get(kind, self.gpu_hour.get(_OTHER))
        if price is None:
            said = (
                f"the prices name no GPU type {kind!r}. Add it to gpu_hour, or a price called "
                f"{_OTHER} for all others."
            )
            raise InputError.among(said, kind, self.gpu_hour)
        return price

    @classmethod
    def example(cls) -> Self:
        """Return round prices of about the size that clouds list, for a trace without its own.

        Examples
        --------
        >>> Prices.example().currency
        'USD at example prices'
        """
        return cls({_OTHER: 1.5}, core_hour=0.04, gib_hour=0.005, currency="USD at example prices")

    @classmethod
    def of_workspace(cls, folder: str | Path) -> Self:
        """Return the prices that a workspace keeps in prices.toml or prices.csv, else examples."""
        kept = kept_prices(folder)
        return cls.example() if kept is None else cls.read(kept)

    def of_hour(self, resource: str) -> float | None:
        """Return what an hour of memory, CPU or GPU costs; None if GPU types differ in price.

        Examples
        --------
        >>> Prices.example().of_hour("gpu"), Prices({"V100": 2.5, "T4": 1.0}).of_hour("gpu")
        (1.5, None)
        """
        if resource == "gpu":
            known = set(self.gpu_hour.values())
            return known.pop() if len(known) == 1 else None
        return {"memory": self.gib_hour, "cpu": self.core_hour}.get(resource)

    @classmethod
    def take(cls, prices: Prices | Mapping[str, object] | str | Path) -> Prices:
        """Return prices as they are, from a mapping as in TOML, or from a file."""
        if isinstance(prices, Prices):
            return prices
        return cls._parse(prices, "prices") if isinstance(prices, Mapping) else cls.read(prices)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a price file, ``.toml`` or ``.csv``."""
        source = Path(path)
        try:
            text = source.read_text(encoding="utf-8")
        except FileNotFoundError as cause:
            raise MissingFileError(f"{source}: there is no such price file. {_FORM}") from cause
        except (OSError, UnicodeDecodeError) as cause:
            raise FormatError(f"{source}: cannot be read as a price file. {_FORM}") from cause
        if source.suffix == ".csv":
            return cls._parse(_from_csv(source), str(source))
        try:
            return cls._parse(tomllib.loads(text), str(source))
        except tomllib.TOMLDecodeError as cause:
            raise FormatError(f"{source}: is not TOML ({cause}). {_FORM}") from cause

    @classmethod
    def _parse(cls, found: JsonMapping, where: str) -> Self:
        known = ("gpu_hour", "core_hour", "gib_hour", "currency")
        for name in found:
            if name not in known:
                raise FormatError.among(f"{where}: {name} is no price.", name, known)
        by_type = found.get("gpu_hour", {})
        if not isinstance(by_type, Mapping):
            by_type = {_OTHER: by_type}
        prices = {f"gpu_hour of {kind}": price for kind, price in by_type.items()}
        prices |= {name: found[name] for name in ("core_hour", "gib_hour") if name in found}
        for name, price in prices.items():
            number = isinstance(price, int | float) and not isinstance(price, bool)
            if not number or not (math.isfinite(price) and price >= 0):
                raise FormatError(
                    f"{where}: {name} is {price!r}, but a price is a number from 0 up. {_FORM}"
                )
        if not any(prices.values()):
            raise FormatError(f"{where}: the prices are all 0. {_FORM}")
        return cls(
            {str(kind): float(price) for kind, price in by_type.items()},
            float(found.get("core_hour", 0.0)),
            float(found.get("gib_hour", 0.0)),
            str(found.get("currency", "")),
        )


def kept_prices(folder: str | Path) -> Path | None:
    """Return the price list of a workspace, if it keeps one."""
    return next((path for name in KEPT if (path := Path(folder) / name).is_file()), None)


def _from_csv(source: Path) -> JsonObject:
    """Return the rows as the mapping that a TOML file would be."""
    try:
        table = pd.read_csv(source, dtype=str, keep_default_na=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as cause:
        raise FormatError(f"{source}: is not CSV ({cause}). {_FORM}") from cause
    if missing := _COLUMNS - set(table.columns):
        raise FormatError(f"{source}: lacks the column {', '.join(sorted(missing))}. {_FORM}")
    found: JsonObject = {"gpu_hour": {}}
    for number, row in enumerate(table.to_dict("records"), start=2):
        resource, kind = row["resource"].strip(), row.get("gpu_type", "").strip()
        try:
            price = float(row["price"])
        except ValueError as cause:
            raise FormatError(
                f"{source} line {number}: price is {row['price']!r}, which is not a number."
            ) from cause
        if resource == "gpu":
            found["gpu_hour"][kind or _OTHER] = price
        elif resource in ("core", "gib"):
            found[f"{resource}_hour"] = price
        else:
            raise FormatError(
                f"{source} line {number}: resource is {resource!r}, but is gpu, core or gib."
            )
        if row.get("currency", "").strip():
            found["currency"] = row["currency"].strip()
    return found
