from __future__ import annotations

import numpy as np
import pytest

from prophase.errors import ParameterError
from prophase.papers.ai4dl.crbm_tools import CRBM, build_slices_from_list_of_arrays
from prophase.papers.ai4dl.weights import NetworkParts, PhaseCentres, save_part


@pytest.fixture
def series():
    rng = np.random.default_rng(0)
    return [np.sin(np.arange(60) / 5)[:, None] + rng.normal(0, 0.05, (60, 2)) for _ in range(2)]


def test_a_network_is_made_learnt_saved_and_loaded_by_its_old_names(series, tmp_path):
    network = CRBM(n_vis=2, n_hid=3, n_his=2, sigma=0.5, n_epochs=7, verbose=0, dtype="Float32")
    slices = build_slices_from_list_of_arrays(series, 2, 2)
    assert len(slices) == 2 * 58
    network.fit(slices)
    assert len(network.rec_error_per_epoch) == 7
    assert network.rec_error_per_epoch[-1] < network.rec_error_per_epoch[0]
    path = network.save(tmp_path / "models", "crbm1")
    again = CRBM.load(path)
    assert (again.n_vis, again.n_hid, again.n_his) == (2, 3, 2)
    np.testing.assert_array_equal(again.predict(series[0]), network.predict(series[0]))
    with pytest.raises(ParameterError, match="is there already"):
        network.save(tmp_path / "models", "crbm1")


def test_first_weights_follow_sigma_and_the_scale_factor(series):
    spread = {}
    for sigma, factor in ((0.2, 0.0), (0.4, 0.0), (0.2, 1.0)):
        network = CRBM(2, 8, 2, sigma, scale_factor=factor, n_epochs=1, learning_rate=1e-9)
        spread[sigma, factor] = network.fit(series).W.std()
    assert spread[0.4, 0.0] == pytest.approx(2 * spread[0.2, 0.0], rel=1e-3)
    assert spread[0.2, 1.0] == pytest.approx(4 * spread[0.2, 0.0], rel=1e-3)


def test_wrong_settings_widths_and_files_are_named(series, tmp_path):
    with pytest.raises(ParameterError, match="no setting 'n_layers'"):
        CRBM(2, 3, 2, n_layers=4)
    with pytest.raises(ParameterError, match="n_vis is 3"):
        CRBM(3, 3, 2).fit(series)
    with pytest.raises(ParameterError, match="n_feat is 5"):
        build_slices_from_list_of_arrays(series, 2, 5)
    save_part(tmp_path / "k", "kmeans", NetworkParts(kmeans=PhaseCentres(np.ones((2, 2)))), 0)
    with pytest.raises(ParameterError, match="holds no network"):
        CRBM.load(tmp_path / "k")
