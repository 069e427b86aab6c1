from __future__ import annotations

import io
import pickle
from pathlib import Path

import numpy as np
import pytest

from prophase.errors import ModelFileError
from prophase.papers.ai4dl.pickles import read_without_running
from prophase.papers.ai4dl.weights import read_parts

NETWORK = {
    "W": np.arange(6, dtype=np.float32).reshape(2, 3),
    "A": np.asfortranarray(np.arange(18.0).reshape(3, 6)),
    "B": np.ones((2, 6)),
    "v_bias": np.zeros((3, 1)),
    "h_bias": np.zeros((2, 1)),
    "n_epochs": 100,
    "dtype": "Float32",
    "rec_error_per_epoch": [0.5, 0.25],
}


class Harmful:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_the_network_of_the_original_is_read_number_by_number(
    tmp_path: Path, protocol: int
) -> None:
    folder = tmp_path / "ai4dl_crbm1"
    folder.mkdir()
    (folder / "model_dict.pickle").write_bytes(pickle.dumps(NETWORK, protocol))
    crbm = read_parts(folder).crbm
    assert crbm is not None
    assert crbm.A.tolist() == NETWORK["A"].tolist()  # type: ignore[attr-defined]
    assert crbm.history == 2
    held = read_without_running(folder / "model_dict.pickle")
    assert held["rec_error_per_epoch"] == [0.5, 0.25]


def test_joblib_files_of_scikit_learn_are_read(tmp_path: Path) -> None:
    joblib = pytest.importorskip("joblib")
    cluster = pytest.importorskip("sklearn.cluster")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    rows = np.random.default_rng(0).normal(size=(50, 3))
    means = cluster.KMeans(4, n_init=1, random_state=0).fit(rows)
    scaler = preprocessing.StandardScaler().fit(rows)
    joblib.dump(means, tmp_path / "kmeans.joblib")
    joblib.dump(scaler, tmp_path / "scaler.joblib")
    kmeans = read_parts(tmp_path / "kmeans.joblib").kmeans
    assert kmeans is not None
    assert kmeans.cluster_centers_.tolist() == means.cluster_centers_.tolist()
    found = read_parts(tmp_path / "scaler.joblib").scaler
    assert found is not None
    assert found.mean_.tolist() == scaler.mean_.tolist()


def test_nothing_in_a_pickle_is_executed(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    (tmp_path / "bad.pickle").write_bytes(pickle.dumps({**NETWORK, "extra": Harmful(trap)}))
    assert read_parts(tmp_path / "bad.pickle").crbm is not None
    assert not trap.exists()


def test_instructions_that_a_model_does_not_need_are_refused(tmp_path: Path) -> None:
    out = io.BytesIO()
    out.write(b"\x80\x04P1\n.")
    (tmp_path / "odd.pickle").write_bytes(out.getvalue())
    with pytest.raises(ModelFileError, match="PERSID"):
        read_without_running(tmp_path / "odd.pickle")


@pytest.mark.parametrize("end", [20, 200])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, end: int) -> None:
    (tmp_path / "cut.pickle").write_bytes(pickle.dumps(NETWORK)[:end])
    with pytest.raises(ModelFileError):
        read_without_running(tmp_path / "cut.pickle")


def test_other_files_are_refused_with_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ModelFileError, match="not a plain pickle"):
        read_parts(tmp_path / "text")
    (tmp_path / "list.pickle").write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(ModelFileError, match="Nothing of it was executed"):
        read_parts(tmp_path / "list.pickle")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(ModelFileError, match="holds neither"):
        read_parts(tmp_path / "other.npz")
