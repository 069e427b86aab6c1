"""AI4DL with the names and defaults of its README, on today's libraries.

``mode="corrected"`` gives a sample the phase of that sample, reads a history in the order it was
learned in, and gives the first samples, whose history is not there, no phase. ``mode="parity"``
labels as the original does, bit for bit: a phase comes from the sample before, histories are read
feature by feature, and the first samples have the phase of all-zero features. If no mode is given,
phases that the original learned and saved are those it would give, which scripts written for it
name by number; phases learned here are corrected.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.papers.ai4dl import crbm_tools, timeseries
from prophase.papers.ai4dl.crbm_tools import CRBM
from prophase.papers.ai4dl.csv_samples import read_samples
from prophase.papers.ai4dl.weights import NetworkParts, PhaseCentres, Scaler, read_parts, save_part
from prophase.plots.phase_series import plot_phase_boxes, plot_series
from prophase.trace.series.kmeans_centres import kmeans, nearest
from prophase.trace.series.usage_series import Floats, Ints

MODES = ("corrected", "parity")


class TimeseriesPipeline:
    """Steps that series go through one after the other: the network, then the phases."""

    def __init__(self, steps: Sequence[Any]) -> None:
        self.steps = tuple(steps)

    def predict(self, list_of_timeseries: Sequence[Floats]) -> list[Ints]:
        """Return what the last step says of each series."""
        found: list[Any] = list(list_of_timeseries)
        for step in self.steps:
            found = [step.predict(one) for one in found]
        return found

    def getStep(self, idx: int) -> Any:
        """Return a step: 0 is the network, 1 gives features their phase."""
        return self.steps[idx]


class AI4DL:
    """Train phases on container series, and label others; see the README of AI4DL.

    Parameters
    ----------
    mode : {"corrected", "parity"}, optional
        How samples get their phase; by who learned the phases if not given, see above.

    Examples
    --------
    >>> model = AI4DL()
    >>> folder = getfixture("tmp_path")
    >>> rows = "\\n".join(f"{t},a,{t % 20 // 10},{t % 7}" for t in range(60))
    >>> _ = (folder / "data.csv").write_text("timestamp,pod.id,cpu,mem\\n" + rows)
    >>> model.LoadTrainingDataset(folder / "data.csv", ["cpu", "mem"], "pod.id")
    >>> model.TrainModel(n_clusters=2, n_hidden=3, n_history=3)
    >>> len(model.Evaluate()[0])
    60
    """

    #: the original has a module of this name around the class; ``AI4DL.AI4DL()`` works with both
    AI4DL: ClassVar[type[AI4DL]]
    crbm_tools: ClassVar[ModuleType] = crbm_tools
    timeseries: ClassVar[ModuleType] = timeseries

    def __init__(self, mode: str | None = None) -> None:
        if mode is not None and mode not in MODES:
            raise ParameterError(f"mode is {mode!r}. Pass one of: {', '.join(MODES)}.")
        self._asked_mode = mode
        self.mode = mode or "corrected"
        self.exec_id: str | None = None
        self.features: list[str] | None = None
        self.list_of_timeseries: list[Floats] | None = None
        #: names of the executions of the training set, in its order
        self.executions: list[str] = []
        self.scaler: Scaler | None = None
        self.crbm: CRBM | None = None
        self.kmeans: PhaseCentres | None = None
        #: phase that was split -> centres of its parts
        self.expansion: dict[int, Floats] = {}
        #: what was noticed in the files that were read
        self.notes: list[str] = []

    @property
    def n_features(self) -> int:
        """Number of features; scripts of the original set it beside `features`."""
        return len(self.features or ())

    @n_features.setter
    def n_features(self, count: int) -> None:
        if self.features is not None and count != len(self.features):
            raise ParameterError(f"n_features is {count}, and features has {len(self.features)}.")

    @property
    def pipeline(self) -> TimeseriesPipeline | None:
        """The network and the phases, as the original keeps them; None without a model."""
        if self.crbm is None or self.kmeans is None:
            return None
        return TimeseriesPipeline((self.crbm, self.kmeans))

    # data

    def LoadTrainingDataset(
        self, data_file: Path | str, features: Sequence[str], exec_id: str
    ) -> None:
        """Read a training set, learn its scale, and keep one scaled series per execution."""
        self.exec_id, self.features = exec_id, list(features)
        names, series, notes = read_samples(data_file, self.features, exec_id)
        self.scaler = Scaler.of(np.concatenate(series))
        self.list_of_timeseries = [self.scaler.transform(one) for one in series]
        self.executions, self.notes = names, notes

    def GetTrainingDataset(self) -> list[Floats] | None:
        """Return the scaled series of the training set, in order of first appearance."""
        return self.list_of_timeseries

    def GetScaler(self) -> Scaler | None:
        """Return the scale, whose ``inverse_transform`` gives values back."""
        return self.scaler

    def TransformData(self, data_file: Path | str) -> list[Floats]:
        """Read a set and scale it as the training set was."""
        if self.scaler is None or self.features is None or self.exec_id is None:
            raise ParameterError(
                "AI4DL knows no features and no scale yet. Call LoadTrainingDataset or LoadModel "
                "first; a model without names needs .features and .exec_id set."
            )
        names, series, notes = read_samples(data_file, self.features, self.exec_id)
        self.notes += notes
        #: names of the executions of the set read last
        self.transformed = names
        return [self.scaler.transform(one) for one in series]

    # model

    def TrainModel(
        self,
        n_clusters: int,
        n_hidden: int,
        n_history: int,
        learning_rate: float = 0.001,
        n_epochs: int = 100,
        crbm_save: Path | str | None = None,
        kmeans_save: Path | str | None = None,
        scaler_save: Path | str | None = None,
        seed: int = 123,
    ) -> None:
        """Learn network and phases from the training set, and save what has a file name.

        The network makes all passes it is told to; see `crbm_tools.CRBM` for stopping earlier.
        """
        if self.list_of_timeseries is None:
            raise ParameterError("AI4DL has no training set yet. Call LoadTrainingDataset first.")
        self.mode = self._asked_mode or "corrected"
        network = CRBM(
            self.n_features, n_hidden, n_history,
            n_epochs=n_epochs, learning_rate=learning_rate, random_state=seed,
        )  # fmt: skip
        network.mode = self.mode
        self.crbm = network.fit(self.list_of_timeseries)
        rows = np.concatenate([self._activations(one) for one in self.list_of_timeseries])
        if self.mode == "corrected":
            rows = rows[np.isfinite(rows).all(axis=1)]
        self.kmeans = PhaseCentres(kmeans(rows, n_clusters, random_state=seed).places)
        self.expansion = {}
        own = tuple(self.features or ())
        for name, target, parts in (
            ("crbm", crbm_save, NetworkParts(crbm=self.crbm)),
            ("kmeans", kmeans_save, NetworkParts(kmeans=self.kmeans)),
            ("scaler", scaler_save, NetworkParts(scaler=self.scaler)),
        ):
            if target is not None:
                parts.features, parts.exec_id = own, self.exec_id
                save_part(target, name, parts, seed)

    def LoadModel(
        self,
        crbm_save: Path | str | None = None,
        kmeans_save: Path | str | None = None,
        scaler_save: Path | str | None = None,
        crbm_sub: CRBM | None = None,
        kmeans_sub: PhaseCentres | None = None,
        scaler_sub: Scaler | None = None,
    ) -> None:
        """Load a model, or parts of it, from files; parts without a file come as objects.

        Files may be ours, the original's (a folder with ``model_dict.pickle``, ``.joblib``
        files), or a plain ``.npz``. Nothing in them is executed.
        """
        self.mode = self._asked_mode or "corrected"
        network = crbm_sub if crbm_save is None else self._part(crbm_save, "crbm")
        centres = kmeans_sub if kmeans_save is None else self._part(kmeans_save, "kmeans")
        if scaler_save is not None:
            self.scaler = self._part(scaler_save, "scaler")
        elif scaler_sub is not None:
            self.scaler = scaler_sub
        if network is None or centres is None:
            raise ParameterError("LoadModel: give a CRBM and a k-means, as files or objects.")
        self.crbm = CRBM.of(network)
        self.crbm.mode = self.mode
        self.kmeans = PhaseCentres(np.asarray(centres.cluster_centers_, np.float64))
        hidden = self.kmeans.cluster_centers_.shape[1]
        if hidden != self.crbm.hidden:
            raise InputError(
                f"the phases were learned on {hidden} hidden features and the CRBM has "
                f"{self.crbm.hidden}: these parts belong to different models."
            )
        metrics = len(self.crbm.v_bias)
        if self.scaler is not None and len(self.scaler.mean_) != metrics:
            raise InputError(
                f"the scaler knows {len(self.scaler.mean_)} features and the CRBM {metrics}: "
                "these parts belong to different models."
            )

    def _part(self, path: Path | str, name: str) -> Any:
        parts = read_parts(path)
        found = getattr(parts, name)
        if found is None:
            raise InputError(f"{path}: holds no {name}. Give the file of that part.")
        if parts.features:
            self.features = list(parts.features)
        if name == "crbm" and parts.is_original and self._asked_mode is None:
            self.mode = "parity"
            self.notes.append(
                f"{path}: was saved by the original, so phases are those it gives. "
                'AI4DL("corrected") gives each sample the phase of that sample.'
            )
        self.exec_id = parts.exec_id or self.exec_id
        self.expansion = parts.expansion or self.expansion
        return found

    # phases

    def Predict(
        self, list_of_timeseries: Sequence[Floats], *, expanded: bool = False
    ) -> list[Ints]:
        """Return a phase per sample of each scaled series; -1 where there is none yet.

        With ``expanded``, phases that were split carry the numbers of their parts.
        """
        return [self._phases(np.asarray(one), expanded) for one in list_of_timeseries]

    def Evaluate(self) -> list[Ints]:
        """Return the phases of the training set."""
        if self.list_of_timeseries is None:
            raise ParameterError("AI4DL has no training set. Call LoadTrainingDataset first.")
        return self.Predict(self.list_of_timeseries)

    def LoadAndPredict(self, data_file: Path | str) -> list[Ints]:
        """Read a set and return its phases."""
        return self.Predict(self.TransformData(data_file))

    def ExpandPhase(
        self,
        list_of_timeseries: Sequence[Floats],
        phase: int | None = None,
        n_new: int = 4,
        *,
        seed: int = 123,
    ) -> dict[str, object]:
        """Split a phase on the hidden features of series; the phase to split is proposed.

        Parts are numbered from the number of phases on. Returns ``phase``, ``new`` and the
        variance of hidden features inside the phase ``before`` and ``after``.
        """
        rows = np.concatenate([self._activations(np.asarray(o)) for o in list_of_timeseries])
        phases = np.concatenate(self.Predict(list_of_timeseries))
        assert self.kmeans is not None
        numbers = range(len(self.kmeans.cluster_centers_))
        spread = {
            n: float(rows[phases == n].var(axis=0).sum()) * int((phases == n).sum())
            for n in numbers
            if (phases == n).sum() > n_new
        }
        if phase is None:
            if not spread:
                raise InputError(f"no phase has more than {n_new} samples; nothing to split.")
            phase = max(spread, key=lambda n: spread[n])
        inside = rows[phases == phase]
        if len(inside) <= n_new:
            raise InputError(
                f"phase {phase} has {len(inside)} samples in these series, too few for {n_new} "
                "parts. Split another, or into fewer."
            )
        found = kmeans(inside, n_new, random_state=seed)
        self.expansion = {phase: found.places}
        first = len(self.kmeans.cluster_centers_)
        return {
            "phase": phase,
            "new": list(range(first, first + n_new)),
            "before": float(inside.var(axis=0).sum()),
            "after": found.inertia,
        }

    def _phases(self, values: Floats, expanded: bool) -> Ints:
        if self.kmeans is None or self.crbm is None:
            raise ParameterError("AI4DL has no model yet. Call TrainModel or LoadModel first.")
        metrics = len(self.crbm.v_bias)
        if values.ndim != 2 or values.shape[1] != metrics:
            width = values.shape[1] if values.ndim == 2 else values.ndim
            raise MissingColumnError(
                f"the model reads {metrics} features per sample, and the series has {width}."
            )
        rows = self._activations(values)
        found = self.kmeans.predict(rows)
        if expanded:
            before = found.copy()
            first = len(self.kmeans.cluster_centers_)
            for phase, parts in self.expansion.items():
                inside = before == phase
                found[inside] = first + nearest(rows[inside], parts)
                first += len(parts)
        return found

    def _activations(self, values: Floats) -> Floats:
        """Return hidden features of every sample: NaN, or in parity zeros, where there are none."""
        assert self.crbm is not None
        return self.crbm.predict(values)

    # figures

    def PrintTrace(
        self,
        list_of_timeseries: Sequence[Floats],
        predicted_seq_phases: Sequence[Ints],
        n_exec: int,
        cpu_idx: int,
        mem_idx: int,
        palette: dict[int, str] | None = None,
        col_names: Sequence[str] | None = None,
        f_name: Path | str | None = None,
    ) -> object:
        """Draw the phases of an execution above two of its metrics, to a file or as a figure."""
        if not 0 <= n_exec < len(list_of_timeseries):
            raise ParameterError(
                f"n_exec is {n_exec}, and there are {len(list_of_timeseries)} executions, "
                "counted from 0."
            )
        return plot_series(
            np.asarray(list_of_timeseries[n_exec])[:, [cpu_idx, mem_idx]],
            phases=[predicted_seq_phases[n_exec]],
            palette=palette,
            names=col_names,
            file=f_name,
        )

    def PrintVarAnalysis(
        self,
        list_of_timeseries: Sequence[Floats],
        pred_seq_phases: Sequence[Ints],
        cpu_idx: int,
        mem_idx: int,
        palette: dict[int, str] | None = None,
        col_names: Sequence[str] | None = None,
        f_name: Path | str | None = None,
    ) -> object:
        """Draw boxes of two metrics by phase, and how often phases occur."""
        return plot_phase_boxes(
            np.concatenate([np.asarray(one)[:, [cpu_idx, mem_idx]] for one in list_of_timeseries]),
            np.concatenate(list(pred_seq_phases)),
            palette=palette,
            names=col_names or ("CPU", "memory"),
            file=f_name,
        )


AI4DL.AI4DL = AI4DL
