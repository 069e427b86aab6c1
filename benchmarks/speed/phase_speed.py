"""How quickly a CRBM learns and labels, beside the way AI4DL does it: one window at a time.

The baseline follows the published algorithm, a window per step, with plain NumPy, in this
process and these minutes; CPU seconds of one core count.

    python benchmarks/speed/phase_speed.py [--repeats 3]
"""

from __future__ import annotations

import os

# one core; must come before NumPy
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.phase.crbm import CRBM, windows_of
from prophase.phase.labellers.boltzmann import BoltzmannMeans
from record import Measurement, record

METRICS, HIDDEN, HISTORY, PHASES = 8, 10, 3, 5


def series(samples: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    level = np.repeat(rng.normal(size=(samples // 50 + 1, METRICS)), 50, axis=0)[:samples]
    return level + rng.normal(0, 0.1, (samples, METRICS))


def logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def learn_one_by_one(windows: np.ndarray, rate: float = 0.001) -> None:
    """A pass of CD-1 over windows of (history + 1, metrics), each a step of its own."""
    rng = np.random.default_rng(0)
    w = 0.01 * rng.normal(size=(HIDDEN, METRICS))
    a = 0.01 * rng.normal(size=(METRICS, METRICS * HISTORY))
    b = 0.01 * rng.normal(size=(HIDDEN, METRICS * HISTORY))
    v_bias, h_bias = np.zeros((METRICS, 1)), np.zeros((HIDDEN, 1))
    for window in windows:
        past = window[:-1].reshape(-1, 1)
        seen = window[-1][:, None]
        hidden = logistic(w @ seen + b @ past + h_bias)
        _ = hidden > rng.random(hidden.shape)
        given = w.T @ hidden + a @ past + v_bias
        again = logistic(w @ given + b @ past + h_bias)
        _ = again > rng.random(again.shape)
        w += rate * (hidden @ seen.T - again @ given.T)
        a += rate * (seen @ past.T - given @ past.T)
        b += rate * (hidden @ past.T - again @ past.T)
        v_bias += rate * (seen - given)
        h_bias += rate * (hidden - again)
        _ = np.linalg.norm(seen - given)


def label_one_by_one(values: np.ndarray, model: BoltzmannMeans) -> None:
    """Hidden features of a sample after the other, then the nearest centres."""
    network = model.model
    rows = np.zeros((len(values), HIDDEN))
    rng = np.random.default_rng(0)
    h_bias = network.h_bias[:, None]
    for place in range(HISTORY, len(values)):
        past = values[place - HISTORY : place].reshape(-1, 1)
        hidden = logistic(network.W @ values[place][:, None] + network.B @ past + h_bias)
        _ = hidden > rng.random(hidden.shape)
        rows[place] = hidden.T
    ((rows[:, None] - model.centres) ** 2).sum(axis=2).argmin(axis=1)


def rate_of(work: Callable[[], object], count: int) -> float:
    begun = time.process_time()
    work()
    return count / (time.process_time() - begun)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=3)
    repeats = options.parse_args().repeats
    many, few = series(100_000), series(3_000)
    windows = windows_of([few], HISTORY).reshape(-1, HISTORY + 1, METRICS)
    ours, theirs = [], []
    epochs = 5
    for _ in range(repeats):
        model = CRBM(hidden=HIDDEN, history=HISTORY, epochs=epochs, patience=0, batch=256)
        ours.append(rate_of(lambda: model.fit([many]), epochs * len(many)))  # noqa: B023
        theirs.append(rate_of(lambda: learn_one_by_one(windows), len(windows)))
    data = f"{METRICS} metrics, {HISTORY} samples of history, {HIDDEN} hidden features"
    record(
        Measurement(
            "CRBM learning", "windows/s", ours, "one window at a time", theirs, data,
            "batches of 256; needed: 50 x the original's 5,000 windows/s",
        )
    )  # fmt: skip
    model = CRBM(hidden=HIDDEN, history=HISTORY, epochs=2, patience=0).fit([few])
    labeller = BoltzmannMeans.on(model, [few], PHASES)
    ours, theirs = [], []
    for _ in range(repeats):
        ours.append(rate_of(lambda: labeller.label(many), len(many)))
        theirs.append(rate_of(lambda: label_one_by_one(few, labeller), len(few)))
    record(
        Measurement(
            "CRBM and k-means labelling", "rows/s", ours, "one row at a time", theirs, data,
            "needed: 100 x the original's 20,000 rows/s",
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
