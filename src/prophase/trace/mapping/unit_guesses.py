"""Which unit a foreign column is in: judged by its name, its values, and the other columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prophase.trace.mapping.column_mapping import TEXT_UNITS
from prophase.trace.mapping.column_traits import ColumnTraits
from prophase.trace.schema import Column
from prophase.units.parsers import CONVERTIBLE

CLOCK_COLUMNS = ("submit_s", "start_s", "end_s", "time_s")
#: a clock with values above these counts from 1970 in that unit
_EPOCHS = ((1e17, "ns"), (1e14, "us"), (1e11, "ms"), (1e8, "s"))

#: 16GB and the like, but not 16GiB
_DECIMAL_SIZE = re.compile(r"[kKmMgGtT][bB]$")
_POWERS = {"k": 3, "m": 6, "g": 9, "t": 12}
#: columns of sacct, in small letters
_SLURM_NAMES = frozenset(
    "jobidraw reqmem maxrss averss maxvmsize avevmsize reqtres alloctres elapsedraw cputimeraw "
    "alloccpus reqcpus allocnodes reqnodes nnodes timelimitraw derivedexitcode".split()
)
#: states that few others write so; COMPLETED and FAILED alone say nothing
_SLURM_STATES = frozenset("TIMEOUT OUT_OF_MEMORY NODE_FAIL BOOT_FAIL DEADLINE PREEMPTED".split())

#: larger numbers are markers, such as Slurm's 2^63 for memory per CPU
_MARKER = 5e18


@dataclass(frozen=True)
class UnitGuess:
    """A unit for a mapping, how certain it is, and why."""

    unit: str | None
    certainty: str
    why: str


def unit_for(target: Column, look: ColumnTraits) -> UnitGuess:
    """Return the unit in which a column would fill ``target``."""
    if not target.unit:
        return UnitGuess(None, "sure", "")
    if target.unit not in CONVERTIBLE:
        return UnitGuess(None, "unsure", f"taken as {target.unit}")
    if look.percent_signs and "percent" in CONVERTIBLE[target.unit]:
        written = f"written like {look.present[0]!r}"
        if target.unit == "%":
            return UnitGuess("percent", "sure", written)
        return UnitGuess("percent", "unsure", f"{written}: 100 = one of the {target.unit}?")
    form = look.form
    if form == "size" and target.unit == "GiB":
        return _size_unit(look)
    if form is not None and TEXT_UNITS[form][0] == target.unit:
        unclear = form in ("datetime dmy", "datetime mdy") and not look.day_is_clear
        certainty = "unsure" if unclear else "sure"
        return UnitGuess(form, certainty, f"written like {look.present[0]!r}")
    if target.name in CLOCK_COLUMNS:
        return _clock_unit(look)
    stated = _stated(target, look)
    if stated is not None:
        return _doubted(target, look, stated)
    by_value = {"s": _span_unit, "GiB": _memory_unit, "cores": _core_unit, "GPUs": _gpu_unit,
                "%": _percent_unit, "bytes": _byte_unit}  # fmt: skip
    return by_value[target.unit](look)


def _size_unit(look: ColumnTraits) -> UnitGuess:
    """Believe Gi and bytes; G and GB have two meanings, and the bare letter has no usual one."""
    bare = next((cell for cell in look.present if cell[-1].lower() in _POWERS), None)
    decimal = next((cell for cell in look.present if _DECIMAL_SIZE.search(cell)), None)
    if bare is None and decimal is None:
        return UnitGuess("size", "sure", f"written like {look.present[0]!r}")
    cell = bare or decimal or ""
    prefix = cell.rstrip("bB")[-1].lower()
    who = ", as Kubernetes means it" if bare else ""
    return UnitGuess(
        "size",
        "unsure" if bare else "likely",
        f"{cell!r} is read as 10^{_POWERS[prefix]} bytes{who}; if it is {prefix.upper()}iB, as "
        f"{'Slurm and Java mean it' if bare else 'many tools mean it'}, write: size binary",
    )


def as_slurm_means(guess: UnitGuess, looks: Sequence[ColumnTraits]) -> UnitGuess:
    """Read 16G as GiB if the other columns have names or states that Slurm gives."""
    if guess.unit != "size" or guess.certainty != "unsure":
        return guess
    names = {look.name.lower() for look in looks} & _SLURM_NAMES
    if len(names) >= 2:
        why = f"which names {min(names)} so"
    elif states := {state for look in looks for state in _SLURM_STATES.intersection(look.present)}:
        why = f"which writes {min(states)} so"
    else:
        return guess
    return UnitGuess("size binary", "likely", f"powers of 1024, as in Slurm, {why}")


def as_requests_mean(
    guess: UnitGuess, look: ColumnTraits, looks: Sequence[ColumnTraits]
) -> UnitGuess:
    """Read MB as MiB if a column in that unit holds whole parts of 1024, as people ask for them."""
    if guess.unit != "MB" or guess.certainty == "unsure":
        return guess
    shown = next((one for one in (look, *looks) if one.unit == look.unit and _binary(one)), None)
    if shown is None:
        return guess
    return UnitGuess(
        f"{guess.unit[0]}iB",
        "likely",
        f"{shown.name} holds multiples of {_PART}, as of powers of 2",
    )


#: what amounts in powers of 2 are multiples of, and amounts in powers of 10
_PART, _DECIMAL = 256, 1000


def _binary(look: ColumnTraits) -> bool:
    values = look.numbers[look.numbers > 0]
    parts = values.size > 0 and bool(np.all(values % _PART == 0))
    return parts and bool(np.any(values % _DECIMAL != 0))


def _stated(target: Column, look: ColumnTraits) -> str | None:
    """Return the unit in the column's name if it is one for this target."""
    unit = look.unit
    if unit == "milli":
        return {"cores": "millicores", "GPUs": "milligpus"}.get(target.unit)
    known = CONVERTIBLE.get(target.unit, {})
    return unit if unit is not None and unit.lower() in known else None


def _doubted(target: Column, look: ColumnTraits, unit: str) -> UnitGuess:
    """Believe the name unless the values cannot be what it says."""
    high = _high(look)
    if target.unit == "%" and unit == "percent" and 0 < high <= 1:
        return UnitGuess("fraction", "unsure", f"the name says percent, but it ends at {high:g}")
    if target.unit == "%" and unit == "fraction" and high > 2:
        return UnitGuess("percent", "unsure", f"the name says fraction, but it ends at {high:g}")
    if unit in ("KB", "MB", "GB"):
        power = {"KB": 3, "MB": 6, "GB": 9}[unit]
        binary = unit[0] + "iB"
        return UnitGuess(unit, "likely", f"10^{power} bytes; many tools mean {binary}, then say so")
    return UnitGuess(unit, "sure", "the name says so")


def _clock_unit(look: ColumnTraits) -> UnitGuess:
    high = _high(look)
    for above, unit in _EPOCHS:
        if high > above:
            said = look.unit if look.unit in ("s", "ms", "us", "ns") else None
            if said is not None and said != unit:
                return UnitGuess(
                    unit, "unsure", f"the name says {said}, its values look like {unit}"
                )
            return UnitGuess(unit, "sure", f"{unit} since 1970: values around {high:.0f}")
    if look.unit in ("s", "ms", "us", "ns", "min", "h", "d"):
        return UnitGuess(look.unit, "sure", "the name says so")
    return UnitGuess("s", "likely", "small numbers: seconds after a start of its own")


def _span_unit(look: ColumnTraits) -> UnitGuess:
    whole = look.numbers[look.numbers > 0]
    if whole.size and np.median(whole) > 1e5 and np.mean(whole % 1000 == 0) > 0.9:
        return UnitGuess("ms", "unsure", "all are multiples of 1,000: milliseconds?")
    return UnitGuess("s", "unsure", "no unit in the name; seconds are usual")


def _memory_unit(look: ColumnTraits) -> UnitGuess:
    """Job memory lies between tens of MiB and a few TiB; take the unit that puts it there."""
    middle, high = _middle(look), _high(look)
    if high >= 2**28:
        return UnitGuess("bytes", "likely", f"values around {middle:.3g} can only be bytes")
    if high >= 2**23:
        return UnitGuess("KiB", "unsure", f"values around {middle:.3g} look like KiB")
    if high > 4096 or (middle >= 256 and np.all(look.numbers % 1 == 0)):
        return UnitGuess("MiB", "unsure", f"values around {middle:.3g} look like MiB")
    return UnitGuess("GiB", "unsure", f"values around {middle:.3g} look like GiB")


def _core_unit(look: ColumnTraits) -> UnitGuess:
    middle, high = _middle(look), _high(look)
    if look.unit == "fraction" or (high <= 1 and any(w.startswith("util") for w in look.words)):
        return UnitGuess("cores", "unsure", "a fraction: of one core, or of the request?")
    if middle >= 1000 and high > 2000:
        return UnitGuess("millicores", "unsure", f"values around {middle:.3g} look like millicores")
    if middle >= 50 and high > 400:
        return UnitGuess("percent", "unsure", f"values around {middle:.3g}: 100 = one core?")
    return UnitGuess("cores", "likely", f"values up to {high:g}")


def _gpu_unit(look: ColumnTraits) -> UnitGuess:
    values = look.numbers[look.numbers > 0]
    if values.size and np.max(values) >= 500 and np.median(values) >= 100:
        return UnitGuess("milligpus", "unsure", f"values up to {_high(look):g}: 1000 = one GPU?")
    if values.size and np.median(values) >= 25 and np.mean(values % 5 == 0) > 0.9:
        return UnitGuess("percent", "unsure", f"values around {_middle(look):g}: 100 = one GPU?")
    return UnitGuess("gpus", "likely", f"values up to {_high(look):g}")


def _percent_unit(look: ColumnTraits) -> UnitGuess:
    if _high(look) <= 1.0:
        return UnitGuess("fraction", "likely", "no value is above 1")
    return UnitGuess("percent", "likely", f"values up to {_high(look):g}")


def _byte_unit(look: ColumnTraits) -> UnitGuess:
    return UnitGuess("bytes", "unsure", "no unit in the name; bytes are usual")


def _high(look: ColumnTraits) -> float:
    usual = look.numbers[look.numbers < _MARKER] if look.unit is None else look.numbers
    return float(np.max(usual)) if usual.size else 0.0


def _middle(look: ColumnTraits) -> float:
    positive = look.numbers[(look.numbers > 0) & (look.numbers < _MARKER)]
    return float(np.median(positive)) if positive.size else 0.0
