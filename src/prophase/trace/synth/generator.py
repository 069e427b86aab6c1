"""What a generator of synthetic traces is, how it is found by name, and what generators share.

A generator is a function ``make_<name>(..., random_state=0)`` that returns a Trace
whose ``truth`` holds what a real trace lacks: profiles, phases, hidden factors.
Truth is for scoring. It is stored beside the tables under names that start with
``truth_`` and no predictor reads it.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from prophase.errors import ParameterError, storage_error
from prophase.json_types import JsonObject
from prophase.trace.identity.job_identity import with_rule
from prophase.trace.identity.rule import IdentityRule
from prophase.trace.source_files import combined_hash
from prophase.trace.trace_tables import Trace
from prophase.version import __version__

#: tables that hold the answer, not the question
TRUTH_PREFIX = "truth_"
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


#: generator -> by what its jobs are grouped: a pipeline's group is the scenario of a run
_RULES = {
    "pai": IdentityRule(("user",), (("group", "task"), ("group",)), group="job group"),
    "pipeline": IdentityRule((), (("task",),)),
}


@dataclass(frozen=True)
class TraceGenerator:
    """One synthetic world: its name, its function and what its parameters do."""

    name: str
    title: str
    make: Callable[..., Trace]
    #: parameter -> what it does, for the command line
    parameters: Mapping[str, str] = field(default_factory=dict)

    def make_from_text(self, options: Mapping[str, str], *, random_state: int) -> Trace:
        """Make the trace with parameters given as text, converted to what the function takes."""
        defaults = {
            name: parameter.default
            for name, parameter in inspect.signature(self.make).parameters.items()
        }
        values: JsonObject = {}
        for option, text in options.items():
            name = option.replace("-", "_")
            self._check_parameter(name)
            values[name] = _converted(f"{self.name}: {option}", text, defaults[name])
        return self.make(**values, random_state=random_state)

    def make_from_values(self, parameters: Mapping[str, object], *, random_state: int) -> Trace:
        """Make the trace with parameters as the function takes them."""
        for name in parameters:
            self._check_parameter(name)
        return self.make(**parameters, random_state=random_state)

    def _check_parameter(self, name: str) -> None:
        if name not in self.parameters:
            said = f"synth {self.name} has no parameter {name!r}."
            raise ParameterError.among(said, name, self.parameters, heading="It takes")


@cache
def all_generators() -> dict[str, TraceGenerator]:
    """Return every generator by name."""
    from prophase.trace import synth

    found = {}
    for module in pkgutil.iter_modules(synth.__path__):
        generator = getattr(import_module(f"{synth.__name__}.{module.name}"), "GENERATOR", None)
        if isinstance(generator, TraceGenerator):
            found[generator.name] = generator
    return dict(sorted(found.items()))


def generator_named(name: str) -> TraceGenerator:
    """Return a generator, or say which there are."""
    known = all_generators()
    if name not in known:
        raise ParameterError.among(f"there is no synthetic trace {name!r}.", name, known)
    return known[name]


def synthetic_trace(
    name: str,
    tables: Mapping[str, pd.DataFrame],
    parameters: Mapping[str, object],
    *,
    random_state: int,
    clock: str = "local",
    truth: Mapping[str, pd.DataFrame] | None = None,
) -> Trace:
    """Wrap finished tables; the data hash follows from generator, parameters, seed and version."""
    given = [f"{key}={value}" for key, value in sorted(parameters.items())]
    digest = combined_hash(["synth", name, __version__, random_state, *given])
    if "jobs" in tables and name in _RULES:
        with_rule(tables["jobs"], _RULES[name])
    return Trace(tables, f"synth-{name}", digest, clock, truth=truth or {})


def tables_to_store(trace: Trace) -> dict[str, pd.DataFrame]:
    """Return the tables of a trace together with its truth, by the name they are stored under."""
    truth = {TRUTH_PREFIX + name.removeprefix(TRUTH_PREFIX): t for name, t in trace.truth.items()}
    return {**trace.tables, **truth}


def seeded(random_state: int) -> np.random.Generator:
    """Return a generator of random numbers of its own; the global one is never touched."""
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise ParameterError(f"random_state is {random_state!r}. Pass a whole number such as 0.")
    if random_state < 0:
        raise ParameterError(f"random_state is {random_state}. Pass 0 or a positive number.")
    return np.random.default_rng(int(random_state))


def check_range(what: str, value: float, low: float, high: float) -> None:
    """Refuse a parameter outside its range before any work is done."""
    if not low <= value <= high:
        raise ParameterError(f"{what} is {value:g}. Pass a value from {low:g} to {high:g}.")


def check_choice(what: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse a word that is none of the choices."""
    if value not in choices:
        raise ParameterError.among(f"{what} is {value!r}.", value, choices)


def _converted(what: str, text: str, default: object) -> object:
    """Read the text as the type of the parameter's default; None stands for a number or a word."""
    try:
        if isinstance(default, bool):
            return {"yes": True, "true": True, "no": False, "false": False}[text.lower()]
        if isinstance(default, tuple):
            return tuple(part for part in text.replace("+", ",").split(",") if part)
        if isinstance(default, int):
            return int(text.replace("_", ""))
        if isinstance(default, float):
            return float(text)
    except (ValueError, KeyError) as cause:
        kind = "yes or no" if isinstance(default, bool) else "a number"
        raise ParameterError(f"{what} is {text!r}. Pass {kind}, such as {default}.") from cause
    return text


def write_csv(tables: Mapping[str, pd.DataFrame], folder: Path | str) -> list[Path]:
    """Write one CSV with a header per table into the folder; return the paths.

    Missing values are empty fields.
    """
    folder = Path(folder)
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, frame in tables.items():
            path = folder / f"{name}.csv"
            table = pa.Table.from_pandas(frame, preserve_index=False)
            pacsv.write_csv(table, str(path), pacsv.WriteOptions(quoting_style="needed"))
            written.append(path)
    except OSError as cause:
        raise storage_error(cause, cause.filename or folder) from cause
    return written


# Columns of text made in bulk: a million names cost tens of milliseconds, not seconds.


def chosen(names: Sequence[str | None], codes: Ints) -> pd.Series:
    """Return ``names[code]`` for every code; a negative code or a name None becomes missing.

    Examples
    --------
    >>> chosen(["ps", "worker"], np.array([1, 0, -1])).tolist()
    ['worker', 'ps', nan]
    """
    return _series(pa.array(names, pa.large_string()).take(pa.array(codes, mask=codes < 0)))


def numbered(prefix: str, numbers: Ints, *, suffix: pd.Series | None = None) -> pd.Series:
    """Return names such as ``job-7``, or ``job-7/worker`` with a suffix per row.

    Examples
    --------
    >>> numbered("job-", np.array([7, 12])).tolist()
    ['job-7', 'job-12']
    """
    parts = [pa.scalar(prefix, pa.large_string()), pc.cast(pa.array(numbers), pa.large_string())]
    if suffix is not None:
        parts += [pa.scalar("/", pa.large_string()), pa.array(suffix, pa.large_string())]
    return _series(pc.binary_join_element_wise(*parts, pa.scalar("", pa.large_string())))


def hex_names(rng: np.random.Generator, count: int, width: int, *, first: int = 0) -> pa.Array:
    """Return distinct names of ``width`` hexadecimal digits, as anonymised traces have them.

    Names made in several calls differ too if each goes on counting where the last one
    stopped; ``first`` says where that is.
    """
    digits = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
    picked = digits[rng.integers(0, 16, (count, width), dtype=np.uint8)]
    # eight digits of a counter, so that no name can repeat
    counter = np.arange(first, first + count, dtype=np.uint32)[:, None]
    picked[:, 4:12] = digits[(counter >> np.arange(28, -4, -4, dtype=np.uint32)) & 15]
    offsets = np.arange(0, (count + 1) * width, width, dtype=np.int64)
    return pa.LargeStringArray.from_buffers(
        count, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(picked))
    )


def where_known(values: Floats, known: Flags) -> Floats:
    """Return the values, missing where they are not known."""
    return np.where(known, values, np.nan)


def _series(names: pa.Array) -> pd.Series:
    return pd.Series(names, dtype="str")
