"""Money on pages: the price list of the workspace, or the example that the report takes too."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from prophase.array_types import Floats
from prophase.errors import InputError
from prophase.serve.loaded_workspace import LoadedWorkspace
from prophase.sizing.saved_money import reserved_cost
from prophase.trace.prices import Prices, kept_prices


@dataclass(frozen=True)
class Money:
    """Prices, the currency, and where they are from, as a page says it."""

    prices: Prices
    unit: str
    said: str

    def cost(self, jobs: pd.DataFrame) -> Floats | None:
        """Return what the requests of jobs cost; None where the list lacks a GPU type."""
        try:
            return reserved_cost(jobs, self.prices)
        except InputError:
            return None

    def of(self, resource: str, hours: float | None) -> float | None:
        """Return what hours of a resource cost, where one price holds for all of it."""
        price = self.prices.of_hour(resource)
        return None if hours is None or not price else hours * price


def money_of(held: LoadedWorkspace) -> Money:
    """Return the prices of a workspace: its own file, or examples that say so."""
    kept = kept_prices(held.workspace.folder)
    prices = Prices.of_workspace(held.workspace.folder)
    unit, _, how = prices.currency.partition(" at ")
    source = f"at prices of {kept.name}" if kept else f"at {how}; put your own into prices.toml"
    return Money(prices, unit or "units of money", source)
