"""What drives the memory of a task? Submit-time columns, ranked.

Three views of each column, because each is blind to something: the rank correlation sees only
steady growth, the effect of a category knows no combination, and the importance asks how much
worse a forest predicts unseen jobs when the column is shuffled.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import InputError, MissingExtraError, not_among
from prophase.sizing.assess.utilisation import refuse_negative, task_names
from prophase.sizing.sizer import library
from prophase.trace.describe.column_arrays import Floats, Ints, numbers
from prophase.trace.schema import known_at_submit

#: clocks say when a job came, not what it is
_CLOCKS = ("submit_s", "submit_order")
#: with fewer rows nothing can be said
FEWEST_ROWS = 30
#: columns with a value of its own for most rows only name the row
_NAMES_ROWS = 0.5
#: a product of two columns is shown if it correlates this much better than each alone
_WORTH_A_PRODUCT = 0.02
#: products are tried among so many of the best numbers
_MOST_MULTIPLIED = 5


def rank_drivers(
    jobs: pd.DataFrame, task: str | None = None, *, random_state: int = 0
) -> pd.DataFrame:
    """Return the submit-time columns that predict a task's peak memory, most important first.

    Parameters
    ----------
    jobs : DataFrame
        A job table.
    task : str, optional
        Look at the runs of this task only.
    random_state : int, default=0
        Seed of the forest and of its test rows. Jobs of one ``group`` are on one side.

    Returns
    -------
    DataFrame
        ``driver`` (a column, or the product of two), ``kind``, ``correlation`` (rank
        correlation with the peak; numbers only), ``effect`` (share of the variance of the
        logarithm of the peak between categories, corrected for their number), and
        ``importance`` (R2 of unseen jobs lost by shuffling; missing without the extra
        ``learn`` and for products).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.integers(10, 1000, 200).astype(float)
    >>> jobs = pd.DataFrame({"attr_rows": rows, "memory_peak_gib": rows**0.9, "user": "ann"})
    >>> rank_drivers(jobs)["driver"].tolist()
    ['attr_rows']
    """
    refuse_negative(jobs)
    held = _runs_of(jobs, task)
    peak = numbers(held, "memory_peak_gib")
    held, peak = held[peak > 0], peak[peak > 0]
    if len(held) < FEWEST_ROWS:
        raise InputError(
            f"{task or 'the jobs'}: drivers need at least {FEWEST_ROWS} runs with a "
            f"memory_peak_gib; there {'is' if len(held) == 1 else 'are'} {len(held)}."
        )
    figures, categories = _columns(held, known_at_submit(held.columns))
    target = np.log(peak)
    table = _strengths(figures, categories, peak)
    table["importance"] = table["driver"].map(
        _importance(figures, categories, target, _groups(held), random_state)
    )
    table = pd.concat([table, _products(figures, peak)], ignore_index=True)
    strength = table["correlation"].abs().fillna(table["effect"].clip(lower=0) ** 0.5)
    order = np.lexsort((-strength.fillna(0.0), -table["importance"].fillna(-np.inf)))
    if table["importance"].isna().all():
        order = np.argsort(-strength.fillna(0.0).to_numpy(float), kind="stable")
    return table.iloc[order].reset_index(drop=True)


def driver_strengths(seen: pd.DataFrame, peak_gib: Floats) -> pd.DataFrame:
    """Return ``driver``, ``kind``, ``correlation`` and ``effect`` of all columns, strongest first.

    Parameters
    ----------
    seen : DataFrame
        What is known before each run, a column per attribute.
    peak_gib : array
        What the runs needed, above 0.
    """
    table = _strengths(*_columns(seen, list(map(str, seen.columns))), peak_gib)
    strength = table["correlation"].abs().fillna(table["effect"].clip(lower=0) ** 0.5)
    order = np.argsort(-strength.fillna(0.0).to_numpy(float), kind="stable")
    return table.iloc[order].reset_index(drop=True)


def _strengths(
    figures: dict[str, Floats], categories: dict[str, Ints], peak: Floats
) -> pd.DataFrame:
    target = np.log(peak)
    rows = [
        {"driver": name, "kind": "number", "correlation": _rank_correlation(values, peak)}
        for name, values in figures.items()
    ]
    rows += [
        {"driver": name, "kind": "category", "effect": _effect(codes, target)}
        for name, codes in categories.items()
    ]
    table = pd.DataFrame(rows, columns=["driver", "kind", "correlation", "effect"])
    return table.astype({"correlation": float, "effect": float})


def _runs_of(jobs: pd.DataFrame, task: str | None) -> pd.DataFrame:
    if task is None:
        return jobs
    names = task_names(jobs)
    mine = names.eq(task).to_numpy(dtype=bool)
    if not mine.any():
        raise InputError(
            not_among(f"there is no task {task!r}.", task, names.unique(), heading="Tasks", most=30)
        )
    return jobs[mine]


def _columns(jobs: pd.DataFrame, names: Sequence[str]) -> tuple[dict[str, Floats], dict[str, Ints]]:
    """Return the columns that vary: those that are numbers or dates, and the others as codes."""
    figures: dict[str, Floats] = {}
    categories: dict[str, Ints] = {}
    for name in names:
        values = jobs[name]
        if name in _CLOCKS or values.nunique() < 2:
            continue
        if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
            figures[name] = numbers(jobs, name)
        elif (days := _days(values)) is not None:
            figures[name] = days
        elif values.nunique() <= _NAMES_ROWS * len(values):
            categories[name] = pd.factorize(values)[0].astype(np.int64)
    return figures, categories


def _days(values: pd.Series[Any]) -> Floats | None:
    """Return days since the first date if a column holds dates such as 2020-07-01."""
    text = values.dropna().astype("str")
    if not text.str.fullmatch(r"\d{4}-\d{2}-\d{2}([ T].*)?").all():
        return None
    dates = pd.to_datetime(values, errors="coerce", format="ISO8601", utc=True)
    days = (dates - dates.min()) / pd.Timedelta(days=1)
    found: Floats = np.asarray(days.to_numpy(np.float64, na_value=np.nan), np.float64)
    return found


def _rank_correlation(values: Floats, peak: Floats) -> float:
    known = ~np.isnan(values)
    if known.sum() < 3 or np.ptp(values[known]) == 0:
        return float("nan")
    ranks = [pd.Series(one[known]).rank().to_numpy(float) for one in (values, peak)]
    if np.ptp(ranks[1]) == 0:
        return float("nan")
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _effect(codes: Ints, target: Floats) -> float:
    """Return epsilon squared: the share between categories, less what chance alone gives."""
    known = codes >= 0
    codes, target = codes[known], target[known]
    names, codes = np.unique(codes, return_inverse=True)
    total = float(((target - target.mean()) ** 2).sum())
    if total <= 0 or len(names) < 2 or len(target) <= len(names):
        return float("nan")
    means = np.bincount(codes, target) / np.bincount(codes)
    within = float(((target - means[codes]) ** 2).sum())
    return 1 - within / total * (len(target) - 1) / (len(target) - len(names))


def _products(figures: dict[str, Floats], peak: Floats) -> pd.DataFrame:
    """Return products of two numbers that predict more than each of them, best first."""
    alone = {name: abs(_rank_correlation(values, peak)) for name, values in figures.items()}
    best = sorted((n for n in alone if alone[n] > 0), key=lambda name: -alone[name])
    rows = []
    for one, other in combinations(best[:_MOST_MULTIPLIED], 2):
        together = _rank_correlation(figures[one] * figures[other], peak)
        if abs(together) > max(alone[one], alone[other]) + _WORTH_A_PRODUCT:
            rows.append({"driver": f"{one} x {other}", "kind": "product", "correlation": together})
    rows.sort(key=lambda row: -abs(float(str(row["correlation"]))))
    table = pd.DataFrame(rows, columns=["driver", "kind", "correlation"])
    return table.assign(effect=np.nan, importance=np.nan)


def best_product(figures: dict[str, Floats], peak: Floats) -> tuple[str, str] | None:
    """Return the two numbers whose product predicts the peak much better than each, if any.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows, days = rng.random(50), rng.random(50)
    >>> best_product({"rows": rows, "days": days}, rows * days)
    ('days', 'rows')
    """
    found = _products(figures, peak)
    if found.empty:
        return None
    one, _, other = str(found["driver"].iloc[0]).partition(" x ")
    return (one, other) if one < other else (other, one)


def _groups(jobs: pd.DataFrame) -> Ints:
    """Return what belongs together, so that a test row has no relative among the training rows."""
    for column in ("group", "parent_id"):
        if column in jobs and jobs[column].nunique() >= 5:
            codes = pd.factorize(jobs[column])[0].astype(np.int64)
            # rows without a group belong to nothing
            return np.where(codes < 0, codes.max() + 1 + np.arange(len(codes)), codes)
    return np.arange(len(jobs))


def _importance(
    figures: dict[str, Floats],
    categories: dict[str, Ints],
    target: Floats,
    groups: Ints,
    random_state: int,
) -> dict[str, float]:
    """Return how much R2 of unseen rows a forest loses when a column is shuffled."""
    # a category that is never on both sides cannot help there
    categories = {
        name: codes for name, codes in categories.items() if not _tells_group(codes, groups)
    }
    names = [*figures, *categories]
    if not learning_is_there():
        return {}
    if not names or np.ptp(target) == 0 or len(np.unique(groups)) < 5:
        return {}
    lost = np.zeros(len(names))
    split = library("sklearn.model_selection").GroupKFold(
        n_splits=3, shuffle=True, random_state=random_state
    )
    folds = list(split.split(target, groups=groups))
    for train, test in folds:
        seen = np.column_stack(
            [np.nan_to_num(values, nan=-1.0) for values in figures.values()]
            + [_mean_per_code(codes, target, train) for codes in categories.values()]
        )
        forest = (
            library("sklearn.ensemble")
            .RandomForestRegressor(
                30, min_samples_leaf=3, max_features=0.7, random_state=random_state, n_jobs=1
            )
            .fit(seen[train], target[train])
        )
        found = library("sklearn.inspection").permutation_importance(
            forest, seen[test], target[test], n_repeats=2, random_state=random_state
        )
        lost += found.importances_mean
    return dict(zip(names, (lost / len(folds)).tolist(), strict=True))


def _tells_group(codes: Ints, groups: Ints) -> bool:
    pairs = len(np.unique(np.column_stack([codes, groups]), axis=0))
    return pairs == len(np.unique(codes)) == len(np.unique(groups))


def _mean_per_code(codes: Ints, target: Floats, train: Ints) -> Floats:
    """Return each category's mean of the training rows; unseen ones get the mean of all."""
    usual = float(target[train].mean())
    size = int(codes.max()) + 2
    count = np.bincount(codes[train] + 1, minlength=size)
    total = np.bincount(codes[train] + 1, target[train], minlength=size)
    # ten rows of the mean of all keep rare categories from standing for their own rows
    return ((total + 10 * usual) / (count + 10))[codes + 1]


def learning_is_there() -> bool:
    """Return whether the extra that importance needs is installed."""
    try:
        library("sklearn")
    except MissingExtraError:
        return False
    return True


def drivers_in_words(task: str, table: pd.DataFrame, most: int = 3) -> str:
    """Return the main drivers of a task as a sentence.

    Examples
    --------
    >>> drivers_in_words(
    ...     "train",
    ...     pd.DataFrame(
    ...         {
    ...             "driver": ["attr_rows"],
    ...             "kind": ["number"],
    ...             "correlation": [0.9],
    ...             "effect": [np.nan],
    ...             "importance": [0.5],
    ...         }
    ...     ),
    ... )
    'train is driven by attr_rows (correlation 0.90).'
    """
    words = []
    products = table[table["kind"] == "product"].head(1)
    shown = pd.concat([products, table[table["kind"] != "product"]]).head(most)
    for row in shown.to_dict("records"):
        if row["kind"] == "category":
            if row["effect"] > 0.01:
                words.append(f"{row['driver']} (effect {100 * row['effect']:.0f} %)")
        elif abs(row["correlation"]) > 0.1:
            words.append(f"{row['driver']} (correlation {row['correlation']:.2f})")
    if not words:
        return f"{task}: no column known at submission predicts its memory."
    return f"{task} is driven by {', '.join(words)}."
