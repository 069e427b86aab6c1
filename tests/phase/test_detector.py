from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.phase.made_series import steps, usage_of

from prophase.errors import InputError, MissingColumnError, ModelFileError, ParameterError
from prophase.modelfile import save_model
from prophase.phase.detector import PhaseDetector
from prophase.phase.labellers import LABELLERS

TRUE = np.tile(np.repeat([0, 1, 2], 30), 3)


@pytest.fixture(scope="module", params=sorted(LABELLERS))
def every_labeller(request: pytest.FixtureRequest, levels_usage: pd.DataFrame) -> PhaseDetector:
    window = LABELLERS[request.param][1][0]
    return PhaseDetector(request.param, n_phases=3, window=window).fit(levels_usage)


def test_levels_are_found_at_the_sample_where_they_begin(
    detector: PhaseDetector, levels_usage: pd.DataFrame
) -> None:
    labels = detector.label(levels_usage)
    for _, one in labels.groupby("series_id"):
        assert one["phase"].to_numpy()[1:].tolist() == TRUE[1:].tolist()


def test_a_label_does_not_depend_on_later_samples(
    every_labeller: PhaseDetector, levels_usage: pd.DataFrame
) -> None:
    part = levels_usage[levels_usage["series_id"] == "s1"]
    whole = every_labeller.label(part)["phase"].to_numpy()
    for end in (20, 35, 100):
        assert every_labeller.label(part[:end])["phase"].tolist() == whole[:end].tolist()


def test_a_stream_gives_the_labels_of_the_batch(
    every_labeller: PhaseDetector, levels_usage: pd.DataFrame
) -> None:
    part = levels_usage[levels_usage["series_id"] == "s2"].reset_index(drop=True)
    part.loc[40:, "time_s"] += 10_000
    part.loc[60, "cpu_cores"] = np.nan
    live = every_labeller.stream()
    found = [
        live.push(row["time_s"], {"cpu_cores": row["cpu_cores"], "memory_gib": row["memory_gib"]})
        for row in part.to_dict("records")
    ]
    labels = every_labeller.label(part)
    assert [step.phase for step in found if step] == labels["phase"].tolist()
    assert [step.new for step in found if step] == labels["new"].tolist()


def test_a_stream_brought_to_a_step_gives_the_labels_of_the_batch(
    levels_usage: pd.DataFrame,
) -> None:
    found = PhaseDetector("samples", n_phases=3, step_s=25.0).fit(levels_usage)
    part = levels_usage[levels_usage["series_id"] == "s0"]
    live = found.stream()
    steps_seen = [
        live.push(row["time_s"], [row["cpu_cores"], row["memory_gib"]])
        for row in part.to_dict("records")
    ]
    batch = found.label(part)["phase"].tolist()
    streamed = [step.phase for step in steps_seen if step]
    # the step that has begun ends with the next sample
    assert streamed == batch[: len(streamed)]
    assert len(batch) - len(streamed) <= 1


def test_a_saved_detector_labels_as_before(
    every_labeller: PhaseDetector, levels_usage: pd.DataFrame, tmp_path: Path
) -> None:
    every_labeller.save(tmp_path / "phases.model")
    loaded = PhaseDetector.load(tmp_path / "phases.model")
    pd.testing.assert_frame_equal(loaded.label(levels_usage), every_labeller.label(levels_usage))
    assert loaded.prototypes_said_ == every_labeller.prototypes_said_


def test_the_same_seed_gives_the_same_file(levels_usage: pd.DataFrame, tmp_path: Path) -> None:
    sums = [
        PhaseDetector("crbm", n_phases=3, random_state=7)
        .fit(levels_usage)
        .save(tmp_path / f"{n}.model")
        for n in range(2)
    ]
    assert sums[0] == sums[1]


def test_the_number_of_phases_is_found() -> None:
    short = {f"s{n}": steps([1.0, 4.0, 7.0] * 2, 12, seed=n) for n in range(4)}
    found = PhaseDetector(window=1).fit(usage_of(short))
    assert found.n_phases_ == 3
    assert {one.n_phases for one in found.trials_} >= {1, 2, 3, 4}


def test_statistics_say_what_phases_use(detector: PhaseDetector) -> None:
    cpu = detector.statistics_.query("metric == 'cpu_cores'")
    assert cpu["q50"].round().tolist() == [1, 4, 7]
    assert detector.lengths_["median_samples"].tolist() == pytest.approx([30, 30, 30], abs=1)
    assert detector.transitions_[0].tolist() == [0, 12, 0]


def test_series_of_another_feature_set_are_refused(
    detector: PhaseDetector, levels_usage: pd.DataFrame
) -> None:
    with pytest.raises(MissingColumnError, match="memory_gib, which the usage table lacks"):
        detector.label(levels_usage.drop(columns="memory_gib"))


def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    save_model(tmp_path / "other.model", kind="sizing.peak")
    with pytest.raises(ModelFileError, match=r"'phase\.detector' is needed"):
        PhaseDetector.load(tmp_path / "other.model")


def test_a_model_without_its_parts_is_refused(tmp_path: Path) -> None:
    save_model(tmp_path / "hollow.model", kind="phase.detector", meta={"labeller": "hmm"})
    with pytest.raises(ModelFileError, match="cannot be understood"):
        PhaseDetector.load(tmp_path / "hollow.model")


def test_series_shorter_than_the_window_are_refused() -> None:
    with pytest.raises(InputError, match="more than 5 samples"):
        PhaseDetector("windows", n_phases=2, window=12).fit(usage_of({"a": steps([1.0], 5)}))


def test_constant_series_are_refused() -> None:
    usage = usage_of({"a": np.ones((50, 2))})
    with pytest.raises(InputError, match="no metric of the usage table varies"):
        PhaseDetector().fit(usage)


def test_labelling_before_learning_is_refused(levels_usage: pd.DataFrame) -> None:
    with pytest.raises(ParameterError, match="Call fit first"):
        PhaseDetector().label(levels_usage)


def test_an_unknown_labeller_is_refused_before_anything_is_read() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'hmm'"):
        PhaseDetector("hmn").fit(pd.DataFrame())


@pytest.mark.data
def test_voice_recognition_is_new_to_a_model_of_training_containers(shared_data: Path) -> None:
    from prophase.trace.trace_tables import open_trace

    metrics = ["cpu_cores", "cpu_util_pct", "memory_gib", "memory_util_frac"]
    known = open_trace(shared_data / "ai4dl" / "sample-dlaas.csv").usage
    other = open_trace(shared_data / "ai4dl" / "sample-vr.csv").usage
    for left_out in known["series_id"].unique():
        inside = known["series_id"] == left_out
        found = PhaseDetector("samples", n_phases=3, metrics=metrics).fit(known[~inside])
        assert found.label(known[inside])["new"].mean() <= 0.05
        assert found.label(other)["new"].mean() >= 0.95
