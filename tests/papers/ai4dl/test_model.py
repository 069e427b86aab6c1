from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from prophase.errors import (
    FormatError,
    InputError,
    MissingColumnError,
    MissingFileError,
    ParameterError,
)
from prophase.papers.ai4dl.__main__ import offer_as_ai4dl
from prophase.papers.ai4dl.model import AI4DL

FEATURES = ["cpu", "mem"]
#: an example written for the original, as its README and example.py have it
EXAMPLE = """
import AI4DL
from AI4DL import AI4DL

model = AI4DL.AI4DL()
model.LoadTrainingDataset("train.csv", ["cpu", "mem"], "pod.id")
model.TrainModel(3, 4, 3, 0.001, 20, "crbm1", "kmeans1.joblib", seed = 123)
series = model.GetTrainingDataset()
phases = model.Predict(series)
palette = {0: "grey", 1: "green", 2: "blue"}
model.PrintTrace(series, phases, 1, 0, 1, palette, col_names = ["CPU", "MEM"], f_name = "trace.png")
names = ["CPU", "MEM"]
model.PrintVarAnalysis(series, phases, 0, 1, palette, col_names = names, f_name = "variance.png")
print("The End")
"""


def write_samples(path: Path, *, executions: int = 2, rows: int = 60) -> Path:
    rng = np.random.default_rng(0)
    lines = ["timestamp,pod.id,cpu,mem"]
    for execution in range(executions):
        level = np.repeat([1.0, 5.0, 2.0], rows // 3)
        for place, cpu in enumerate(level + rng.normal(0, 0.1, len(level))):
            lines.append(f"{20 * place},exec{execution},{cpu:.4f},{10 - cpu:.4f}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_samples(tmp_path_factory.mktemp("ai4dl") / "train.csv")


def trained(samples: Path, mode: str = "corrected", **saves: Path) -> AI4DL:
    model = AI4DL(mode)
    model.LoadTrainingDataset(samples, FEATURES, "pod.id")
    model.TrainModel(3, 4, 3, n_epochs=20, **saves)  # type: ignore[arg-type]
    return model


@pytest.mark.data
def test_published_phases_come_out_label_by_label(shared_data: Path) -> None:
    folder = shared_data / "ai4dl"
    golden = json.loads((folder / "ai4dl_golden_phases.json").read_text())
    counted = {}
    for mode, key in (("parity", "as_published"), ("corrected", "corrected")):
        model = AI4DL(mode)
        model.LoadModel(*[folder / "ai4dl_model.npz"] * 3)
        model.exec_id = "pod.id"
        counted[key] = 0
        for name, executions in golden[key].items():
            phases = model.LoadAndPredict(folder / name)
            found = dict(zip(model.transformed, phases, strict=True))
            for execution, labels in executions.items():
                wanted = [-1 if one is None else one for one in labels]
                assert found[execution].tolist() == wanted
                counted[key] += sum(one >= 0 for one in wanted)
        if mode == "parity":
            series = model.TransformData(folder / "sample-vr.csv")
            expanded = model.Predict(series, expanded=True)[0].tolist()
            assert expanded == golden["expanded"]["sample-vr.csv"]["exec2"]
            assert len(expanded) == 2286
    assert counted == {"as_published": 2694, "corrected": 2667}


def test_the_scaler_gives_values_back(samples: Path) -> None:
    model = AI4DL()
    model.LoadTrainingDataset(samples, FEATURES, "pod.id")
    series = model.GetTrainingDataset()
    assert series is not None
    scaler = model.GetScaler()
    assert scaler is not None
    back = scaler.transform(scaler.inverse_transform(series[0]))
    assert np.abs(back - series[0]).max() < 1e-9
    assert np.concatenate(series).mean(axis=0) == pytest.approx([0, 0], abs=1e-9)


def test_evaluate_and_load_and_predict_are_predict(samples: Path) -> None:
    model = trained(samples)
    series = model.GetTrainingDataset()
    assert series is not None
    for one, other, third in zip(
        model.Evaluate(), model.Predict(series), model.LoadAndPredict(samples), strict=True
    ):
        assert one.tolist() == other.tolist() == third.tolist()


def test_corrected_labels_begin_after_the_history_and_parity_ones_are_a_sample_late(
    samples: Path,
) -> None:
    corrected = trained(samples).Evaluate()[0]
    assert corrected[:3].tolist() == [-1, -1, -1]
    assert (corrected[3:] >= 0).all()
    parity = trained(samples, "parity").Evaluate()[0]
    assert len(set(parity[:4].tolist())) == 1


def test_the_same_seed_gives_the_same_phases(samples: Path) -> None:
    assert [one.tolist() for one in trained(samples).Evaluate()] == [
        one.tolist() for one in trained(samples).Evaluate()
    ]


def test_saved_parts_restore_model_features_and_id(samples: Path, tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("crbm_save", "kmeans_save", "scaler_save")}
    before = trained(samples, **files).Evaluate()
    model = AI4DL()
    model.LoadModel(*files.values())
    assert model.features == FEATURES
    assert model.exec_id == "pod.id"
    assert [one.tolist() for one in model.LoadAndPredict(samples)] == [
        one.tolist() for one in before
    ]


def test_parts_of_different_models_are_refused(samples: Path, tmp_path: Path) -> None:
    one = trained(samples, crbm_save=tmp_path / "crbm")
    model = AI4DL()
    model.LoadTrainingDataset(samples, FEATURES, "pod.id")
    model.TrainModel(2, 6, 3, n_epochs=2, kmeans_save=tmp_path / "other")
    with pytest.raises(InputError, match="different models"):
        one.LoadModel(tmp_path / "crbm", tmp_path / "other")
    with pytest.raises(InputError, match="holds no kmeans"):
        one.LoadModel(tmp_path / "crbm", tmp_path / "crbm")


def test_a_script_written_for_the_original_runs_unchanged(tmp_path: Path) -> None:
    write_samples(tmp_path / "train.csv")
    (tmp_path / "example.py").write_text(EXAMPLE)
    done = subprocess.run(
        [sys.executable, "-m", "prophase.papers.ai4dl", "example.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "The End"
    assert (tmp_path / "trace.png").stat().st_size > 5_000
    assert (tmp_path / "variance.png").stat().st_size > 5_000


#: what the second notebook does, step by step, with its names
NOTEBOOK = """
import copy
import numpy as np
import AI4DL
from AI4DL import AI4DL

model = AI4DL.AI4DL()
model.LoadModel("crbm1", "kmeans1.joblib", "scaler1.joblib")
model.exec_id = "pod.id"
model.features = ["cpu", "mem"]
model.n_features = len(model.features)
series = model.TransformData("train.csv")
phases = model.Predict(series)
target = 1
activations = np.vstack([model.pipeline.getStep(0).predict(x) for x in series])
selected = activations[np.concatenate(phases) == target]
kmeans = AI4DL.KMeans(selected)
count = 0
new = copy.deepcopy(phases)
for x in range(0, len(phases)):
    for y in range(0, len(phases[x])):
        if phases[x][y] == target:
            new[x][y] = 3 + kmeans.predict([selected[count]])[0]
            count = count + 1
palette = {0: "grey", 1: "green", 2: "blue", 3: "red", 4: "orange"}
model.PrintTrace(series, new, 0, 0, 1, palette, col_names = ["CPU", "MEM"], f_name = "post.png")
names = ["CPU", "MEM"]
model.PrintVarAnalysis(series, new, 0, 1, palette, col_names = names, f_name = "variance.png")
print(sorted(set(np.concatenate(new).tolist()) - {-1}))
"""


def test_the_second_notebook_runs_with_its_own_names(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    from sklearn.cluster import KMeans

    files = ("crbm1", "kmeans1.joblib", "scaler1.joblib")
    kinds = ("crbm_save", "kmeans_save", "scaler_save")
    trained(samples, **{kind: tmp_path / name for kind, name in zip(kinds, files, strict=True)})
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.csv").write_bytes(samples.read_bytes())
    monkeypatch.setattr(
        AI4DL, "KMeans", lambda rows: KMeans(2, n_init=1, random_state=0).fit(rows), raising=False
    )
    for name in ("AI4DL", "AI4DL.crbm_tools", "AI4DL.timeseries"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    offer_as_ai4dl()
    exec(compile(NOTEBOOK, "notebook", "exec"), {})
    shown = capsys.readouterr().out
    assert "3, 4]" in shown
    assert (tmp_path / "post.png").stat().st_size > 5_000


def test_phases_saved_by_the_original_are_those_it_gives_unless_a_mode_is_asked_for(
    samples: Path, tmp_path: Path
) -> None:
    ours = trained(samples)
    assert ours.crbm is not None
    (tmp_path / "crbm1").mkdir()
    (tmp_path / "crbm1" / "model_dict.pickle").write_bytes(pickle.dumps(ours.crbm.arrays()))
    parts = {"kmeans_sub": ours.kmeans, "scaler_sub": ours.scaler}
    for asked, mode in ((None, "parity"), ("corrected", "corrected"), ("parity", "parity")):
        model = AI4DL(asked)
        model.LoadModel(tmp_path / "crbm1", **parts)
        model.features, model.exec_id = FEATURES, "pod.id"
        assert model.mode == mode
        assert any("original" in note for note in model.notes) == (asked is None)
        assert (model.LoadAndPredict(samples)[0][:3] >= 0).all() == (mode == "parity")
    model = AI4DL()
    model.LoadModel(crbm_sub=ours.crbm, **parts)
    assert model.mode == "corrected"


def test_a_pipeline_says_what_predict_says(samples: Path) -> None:
    for mode in ("corrected", "parity"):
        model = trained(samples, mode)
        assert model.pipeline is not None
        for one, other in zip(
            model.pipeline.predict(model.list_of_timeseries or []), model.Evaluate(), strict=True
        ):
            np.testing.assert_array_equal(one, other)
    assert AI4DL().pipeline is None
    with pytest.raises(ParameterError, match="n_features is 3"):
        model.n_features = 3


@pytest.mark.data
@pytest.mark.parametrize(("epochs", "original"), [(20, 0.9021), (100, 0.5592)])
def test_training_lasts_as_told_and_reconstructs_at_least_as_well_as_the_original(
    shared_data: Path, epochs: int, original: float
) -> None:
    # of the original after as many passes, by the same measure, on its own sample
    model = AI4DL()
    names = ["cpu.usage", "cpu.usage.cores", "cpu.usage.pct", "cpu.usage.pct.container.requested"]
    names += ["mem.current", "mem.limit", "mem.usage.pct", "mem.working.set"]
    model.LoadTrainingDataset(shared_data / "ai4dl" / "sample.csv", names, "pod.id")
    model.TrainModel(5, 10, 3, 0.001, epochs)
    assert model.crbm is not None
    assert len(model.crbm.rec_error_per_epoch) == epochs
    assert model.crbm.reconstruction_error(model.list_of_timeseries or []) <= original


def test_a_phase_is_split_and_the_variance_inside_falls(samples: Path) -> None:
    model = trained(samples)
    series = model.GetTrainingDataset()
    assert series is not None
    told = model.ExpandPhase(series, n_new=2)
    assert told["new"] == [3, 4]
    assert told["after"] < told["before"]
    found = np.concatenate(model.Predict(series, expanded=True))
    assert told["phase"] not in found
    assert {3, 4} <= set(found.tolist())


def test_a_row_number_without_a_name_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "numbered.csv"
    path.write_text("pod.id,cpu,mem\n" + "".join(f"{n},a,{n},{n}\n" for n in range(1, 9)))
    model = AI4DL()
    model.LoadTrainingDataset(path, FEATURES, "pod.id")
    assert "row number" in model.notes[0]
    assert len(model.GetTrainingDataset() or []) == 1


def test_rows_that_do_not_fit_the_header_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("pod.id,cpu,mem\na,1,2\na,1,2,3\n")
    with pytest.raises(FormatError, match="line 3: has 4 fields under 3 names"):
        AI4DL().LoadTrainingDataset(path, FEATURES, "pod.id")


def test_pauses_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "paused.csv"
    times = [0, 10, 20, 30, 900, 910]
    path.write_text("timestamp,pod.id,cpu,mem\n" + "".join(f"{t},a,{t},1\n" for t in times))
    model = AI4DL()
    model.LoadTrainingDataset(path, FEATURES, "pod.id")
    assert model.notes == ["a: 1 pause of more than 5 steps."]


def test_a_missing_feature_and_a_missing_value_are_named(samples: Path, tmp_path: Path) -> None:
    with pytest.raises(MissingColumnError, match=r"no column 'cpus'.*Did you mean 'cpu'"):
        AI4DL().LoadTrainingDataset(samples, ["cpus"], "pod.id")
    path = tmp_path / "holes.csv"
    path.write_text("pod.id,cpu,mem\na,1,2\na,,2\n")
    with pytest.raises(InputError, match="line 3"):
        AI4DL().LoadTrainingDataset(path, FEATURES, "pod.id")
    with pytest.raises(MissingFileError):
        AI4DL().LoadTrainingDataset(tmp_path / "no.csv", FEATURES, "pod.id")


def test_calls_in_the_wrong_order_are_refused(samples: Path) -> None:
    with pytest.raises(ParameterError, match="no training set"):
        AI4DL().TrainModel(2, 2, 2)
    with pytest.raises(ParameterError, match="no model yet"):
        AI4DL().Predict([np.zeros((5, 2))])
    with pytest.raises(ParameterError, match="no features"):
        AI4DL().TransformData(samples)
    with pytest.raises(ParameterError, match="mode"):
        AI4DL("exact")


def test_series_with_other_features_are_refused(samples: Path) -> None:
    with pytest.raises(MissingColumnError, match="reads 2 features"):
        trained(samples).Predict([np.zeros((9, 3))])
