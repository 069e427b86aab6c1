from __future__ import annotations

import numpy as np
import pytest

from prophase.sizing.least_waste.joint_regression import Joint, choose_columns
from prophase.sizing.least_waste.lineage import INPUT, OWN, Known


def _known(count: int = 60) -> tuple[list[Known], list[tuple[str, ...]], np.ndarray]:
    """Peaks that follow the input, a batch size and the region, and nothing else."""
    random = np.random.default_rng(3)
    size, batch, noise = random.normal(0, 1, (3, count))
    regions = random.choice(["north", "south"], count)
    log_peaks = 1.0 + 0.8 * size + 0.5 * batch + 0.6 * (regions == "south")
    log_peaks += random.normal(0, 0.02, count)
    told = [
        {INPUT: x, (OWN, "batch"): y, ("other", "peak"): z}
        for x, y, z in zip(size.tolist(), batch.tolist(), noise.tolist(), strict=True)
    ]
    return told, [(f"region={region}",) for region in regions], log_peaks


def test_what_goes_with_the_peaks_is_chosen_and_noise_is_not() -> None:
    told, words, log_peaks = _known()
    columns = choose_columns(told, words, log_peaks)
    assert INPUT in columns
    assert (OWN, "batch") in columns
    assert ("other", "peak") not in columns


def test_numbers_and_words_together_foretell_the_peak() -> None:
    told, words, log_peaks = _known()
    joint = Joint(choose_columns(told, words, log_peaks))
    rows = np.array([joint.encode(*known) for known in zip(told, words, strict=True)])
    joint.fit(rows, log_peaks)
    predicted, _ = joint.at(joint.encode({INPUT: 1.0, (OWN, "batch"): -1.0}, ("region=south",)))
    assert predicted == pytest.approx(1.0 + 0.8 - 0.5 + 0.6, abs=0.05)


def test_errors_are_those_of_fits_without_the_instance() -> None:
    told, words, log_peaks = _known(30)
    columns = [INPUT, (OWN, "batch")]
    joint = Joint(columns)
    rows = np.array([joint.encode(*known) for known in zip(told, words, strict=True)])
    joint.fit(rows, log_peaks)
    without = Joint(columns)
    without.fit(rows[1:], log_peaks[1:])
    assert joint.errors[0] == pytest.approx(log_peaks[0] - without.at(rows[0])[0], rel=0.1)


def test_a_number_nobody_knows_counts_as_usual() -> None:
    told, words, log_peaks = _known()
    joint = Joint([INPUT])
    rows = np.array([joint.encode(*known) for known in zip(told, words, strict=True)])
    joint.fit(rows, log_peaks)
    assert joint.at(joint.encode({}, ()))[0] == pytest.approx(log_peaks.mean())
