"""Usage series of containers whose phases are known.

A service has a program: phases in a recurring order, each with a run length of its own.
Phases of kind ``levels`` differ in how much is used. Phases of kind ``dynamics`` all use
the same on average and differ in how use moves: calm, jumpy, slowly drifting, periodic.
What tells samples apart one by one finds the former and is blind to the latter.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from prophase.trace.synth.generator import (
    Floats,
    Ints,
    TraceGenerator,
    check_choice,
    check_range,
    chosen,
    seeded,
    synthetic_trace,
)
from prophase.trace.trace_tables import Trace

KINDS = ("levels", "dynamics", "both")
#: metric -> typical value, spread of a service's own scale (log), smallest, largest
METRICS = {
    "cpu_cores": (2.0, 0.5, 0.0, np.inf),
    "memory_gib": (6.0, 0.6, 0.0, np.inf),
    "gpu_util_pct": (40.0, 0.3, 0.0, 100.0),
    "gpu_memory_gib": (8.0, 0.5, 0.0, np.inf),
}
#: every service has its own step among these, in seconds
_STEPS = (10.0, 15.0, 20.0, 30.0, 60.0)
#: share of rows that are lost when gaps are on, in runs of about this many samples
_LOST_SHARE, _GAP_LENGTH = 0.05, 8


@dataclass(frozen=True)
class _Program:
    """How one service behaves; arrays have one entry per phase, or phase x metric."""

    order: Ints
    length: Floats
    level: Floats
    memory: Floats
    noise: Floats
    period: Ints
    swing: Floats
    step_s: float


def make_containers(
    series: int = 60,
    *,
    samples: int = 600,
    services: int = 6,
    phases: int = 4,
    kind: str = "both",
    metrics: tuple[str, ...] = ("cpu_cores", "memory_gib", "gpu_util_pct"),
    gaps: bool = False,
    irregular: bool = False,
    random_state: int = 0,
) -> Trace:
    """Return usage series with the phase of every sample as truth.

    Parameters
    ----------
    samples : int, default=600
        Mean samples per container; lengths vary by a third either way.
    services : int, default=6
        Number of programs; a container runs one of them.
    phases : int, default=4
        Phases per service. Phase ``p`` of one service is not phase ``p`` of another.
    kind : {"levels", "dynamics", "both"}
        What phases differ in.
    metrics : tuple of str
        Columns to make, out of cpu_cores, memory_gib, gpu_util_pct, gpu_memory_gib.
    gaps : bool, default=False
        Lose about 5 % of the samples, in runs.
    irregular : bool, default=False
        Let the time between samples vary from half to twice the service's step.

    Examples
    --------
    >>> trace = make_containers(series=3, samples=100, kind="levels")
    >>> trace.usage["series_id"].nunique(), list(trace.truth)
    (3, ['truth_phases'])
    """
    check_range("containers: series", series, 1, 1_000_000)
    check_range("containers: samples", samples, 10, 10_000_000)
    check_range("containers: services", services, 1, 10_000)
    check_range("containers: phases", phases, 1, 50)
    check_choice("containers: kind", kind, KINDS)
    for metric in metrics:
        check_choice("containers: metrics", metric, tuple(METRICS))
    rng = seeded(random_state)
    programs = [_program(rng, phases, metrics, kind) for _ in range(services)]
    service = rng.permutation(np.arange(series) % services)
    lengths = np.maximum(np.round(samples * rng.uniform(2 / 3, 4 / 3, series)), 10).astype(int)
    parts = [
        _one_series(rng, programs[service[place]], int(lengths[place]), irregular=irregular)
        for place in range(series)
    ]
    which = np.repeat(np.arange(series), lengths)
    keep = ~_lost(rng, which) if gaps else np.ones(len(which), dtype=bool)
    names = [f"service-{service[place]:02d}/container-{place:04d}" for place in range(series)]
    values = np.vstack([part[2] for part in parts])[keep]
    series_id = chosen(names, which[keep])
    time_s = np.concatenate([part[0] for part in parts])[keep]
    usage = {"series_id": series_id, "time_s": time_s}
    for place, metric in enumerate(metrics):
        _, _, low, high = METRICS[metric]
        usage[metric] = np.clip(values[:, place], low, high)
    truth = {
        "series_id": series_id,
        "time_s": time_s,
        "phase": np.concatenate([part[1] for part in parts])[keep],
        "service": chosen([f"service-{n:02d}" for n in range(services)], service[which[keep]]),
    }
    parameters = {
        "series": series, "samples": samples, "services": services, "phases": phases,
        "kind": kind, "metrics": ",".join(metrics), "gaps": gaps, "irregular": irregular,
    }  # fmt: skip
    return synthetic_trace(
        "containers",
        {"usage": pd.DataFrame(usage)},
        parameters,
        random_state=random_state,
        clock="relative",
        truth={"truth_phases": pd.DataFrame(truth)},
    )


def _program(
    rng: np.random.Generator, phases: int, metrics: tuple[str, ...], kind: str
) -> _Program:
    """Draw the program of a service: an order that recurs, and what each phase looks like."""
    count = len(metrics)
    typical = np.array([METRICS[m][0] for m in metrics])
    scale = typical * np.exp(rng.normal(0.0, [METRICS[m][1] for m in metrics]))
    steps = np.array([rng.permutation(phases) for _ in range(count)]).T
    if kind == "dynamics":
        level = np.tile(scale, (phases, 1))
    else:
        level = scale * (0.3 + 1.4 * (steps + 0.5) / phases)
    calm = {"memory": 0.5, "noise": 0.06, "swing": 0.0, "period": 20}
    styles = [
        {"memory": 0.3, "noise": 0.05, "swing": 0.0, "period": 20},
        {"memory": 0.0, "noise": 0.24, "swing": 0.0, "period": 20},
        {"memory": 0.97, "noise": 0.22, "swing": 0.0, "period": 20},
        {"memory": 0.2, "noise": 0.05, "swing": 0.30, "period": 12},
        {"memory": 0.2, "noise": 0.05, "swing": 0.30, "period": 40},
        {"memory": -0.8, "noise": 0.22, "swing": 0.0, "period": 20},
    ]
    turn = rng.permutation(len(styles))
    style = [calm if kind == "levels" else styles[turn[p % len(styles)]] for p in range(phases)]
    return _Program(
        order=np.concatenate(
            [rng.permutation(phases), rng.integers(0, phases, max(phases // 2, 1))]
        ),
        length=rng.uniform(20, 90, phases),
        level=level,
        memory=np.array([s["memory"] for s in style], dtype=float),
        noise=np.array([s["noise"] for s in style], dtype=float),
        period=np.array([s["period"] for s in style], dtype=np.int64),
        swing=np.array([s["swing"] for s in style], dtype=float),
        step_s=float(rng.choice(_STEPS)),
    )


def _one_series(
    rng: np.random.Generator, program: _Program, samples: int, *, irregular: bool
) -> tuple[Floats, Floats, Floats]:
    """Return times, phases and values (sample x metric) of one container."""
    phase = _phase_sequence(rng, program, samples)
    bounds = np.append(np.flatnonzero(np.diff(phase, prepend=-1)), samples)
    count = program.level.shape[1]
    # a container is a little larger or smaller than its sisters
    own = np.exp(rng.normal(0.0, 0.08, count))
    values = np.empty((samples, count))
    for begin, end in pairwise(bounds):
        values[begin:end] = own * _segment(rng, program, int(phase[begin]), end - begin)
    steps = np.full(samples, program.step_s)
    if irregular:
        steps = np.round(program.step_s * rng.uniform(0.5, 2.0, samples))
    times = np.round(rng.uniform(0, 86400)) + np.cumsum(steps) - steps[0]
    return times, phase.astype(float), values


def _phase_sequence(rng: np.random.Generator, program: _Program, samples: int) -> Ints:
    """Follow the program with run lengths of its own; now and then a phase is left out."""
    parts: list[Ints] = []
    total, place = 0, int(rng.integers(0, len(program.order)))
    last = -1
    while total < samples:
        phase = int(program.order[place % len(program.order)])
        place += 1
        skipped = len(program.length) > 1 and (phase == last or rng.random() < 0.05)
        if skipped:
            continue
        run = max(4, round(rng.gamma(6.0, program.length[phase] / 6.0)))
        parts.append(np.full(run, phase))
        total, last = total + run, phase
    return np.concatenate(parts)[:samples]


def _segment(rng: np.random.Generator, program: _Program, phase: int, samples: int) -> Floats:
    """One stay in a phase: level x (1 + noise with memory + swing)."""
    # takes longer to import than the rest of synth together
    from scipy.signal import lfilter

    count = program.level.shape[1]
    memory = program.memory[phase]
    fresh = rng.normal(0.0, np.sqrt(1 - memory**2), (samples, count))
    fresh[0] = rng.normal(0.0, 1.0, count)
    moving = program.noise[phase] * lfilter([1.0], [1.0, -memory], fresh, axis=0)
    angle = 2 * np.pi * (np.arange(samples)[:, None] / program.period[phase] + rng.random(count))
    swing = program.swing[phase] * np.sin(angle)
    return np.asarray(program.level[phase] * np.maximum(1 + moving + swing, 0.0))


def _lost(rng: np.random.Generator, which: Ints) -> np.ndarray:
    """Mark runs of samples as lost; the first and last sample of a series stay."""
    lost = np.zeros(len(which), dtype=bool)
    begins = np.flatnonzero(rng.random(len(which)) < _LOST_SHARE / _GAP_LENGTH)
    for begin in begins:
        lost[begin : begin + 1 + rng.poisson(_GAP_LENGTH - 1)] = True
    change = np.diff(which, prepend=-1) != 0
    lost[change | np.append(change[1:], True)] = False
    return lost


GENERATOR = TraceGenerator(
    "containers",
    "CPU, memory and GPU series of containers, with phases as truth",
    make_containers,
    {
        "series": "number of containers",
        "samples": "mean samples per container",
        "services": "number of programs that containers follow",
        "phases": "phases per service",
        "kind": "what phases differ in: levels, dynamics or both",
        "metrics": "columns, joined by commas: " + ", ".join(METRICS),
        "gaps": "lose about 5 % of the samples, in runs (yes or no)",
        "irregular": "vary the time between samples (yes or no)",
    },
)
