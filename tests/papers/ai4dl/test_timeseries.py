from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.papers.ai4dl import timeseries

VALUES = np.column_stack([np.linspace(0, 1, 40), np.linspace(1, 0, 40)])
PHASES = np.repeat([0, 1], 20)


def test_triplets_are_read_in_order_without_hidden_files(tmp_path):
    for number, name in enumerate(("01-a", "01-b", "01-c", "02-a", "02-b", "02-c")):
        pd.DataFrame({"cpu": [number, 2 * number]}).to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / ".directory").write_text("")
    found = timeseries.read_triplets(tmp_path)
    assert [[table["cpu"][0] for table in three] for three in found] == [[0, 1, 2], [3, 4, 5]]
    figure = timeseries.plot_barplots_triplets(found, "cpu", "max")
    heights = [patch.get_height() for patch in figure.axes[0].patches]
    assert heights == [0, 6, 2, 8, 4, 10]
    with pytest.raises(MissingColumnError, match="'mem'"):
        timeseries.plot_barplots_triplets(found, "mem", "max")
    with pytest.raises(ParameterError, match="max or mean"):
        timeseries.plot_barplots_triplets(found, "cpu", "min")
    (tmp_path / "02-c.csv").unlink()
    with pytest.raises(InputError, match="has 5 files"):
        timeseries.read_triplets(tmp_path)


def test_workloads_are_made_longer_shorter_and_wider():
    table = pd.DataFrame(VALUES)
    assert timeseries.build_duplicated_workloads([table])[0].shape == (80, 2)
    assert timeseries.build_streched_workloads([table])[0][:4, 0].tolist() == [
        0.0, 0.0, VALUES[1, 0], VALUES[1, 0],
    ]  # fmt: skip
    assert timeseries.build_compressed_workloads([table], 4)[0].shape == (10, 2)
    assert timeseries.hstack_with_padding(VALUES, VALUES[:3]).shape == (40, 4)


def test_plots_take_the_options_of_the_original(tmp_path):
    file = tmp_path / "one.png"
    figure = timeseries.plot_timeseries_with_phases(
        VALUES, PHASES, num_to_color={0: "grey", 1: "green"}, column_names=["CPU", "MEM"],
        fig_size=(8, 5), color="blue", font_size=11, label_size=7, y_lim=(-3, 3.1),
        y_ticks_delta=2, y_phase_values=[1, 2], merge_phases=True, file_to_save=str(file),
    )  # fmt: skip
    assert file.stat().st_size > 5_000
    assert figure.get_size_inches().tolist() == [8.0, 5.0]
    cpu = figure.axes[1]
    assert (cpu.get_title(), cpu.title.get_color(), cpu.title.get_fontsize()) == ("CPU", "blue", 11)
    assert cpu.get_ylim() == (-3.0, 3.1)
    assert cpu.get_yticks().tolist() == [-3.0, -1.0, 1.0, 3.0]
    assert len(timeseries.plot_timeseries(pd.DataFrame(VALUES)).axes) == 2
    assert len(timeseries.plot_timeseries_overlaped(VALUES, VALUES).axes) == 2
    both = timeseries.plot_timeseries_overlaped_with_phases(VALUES, VALUES, PHASES, PHASES)
    assert len(both.axes) == 4
    with pytest.raises(ParameterError, match="font_size"):
        timeseries.plot_timeseries(VALUES, fontsize=3)
