"""A trained AI4DL model: weights of the network, scale of the features, centres of the phases."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from prophase.errors import MissingFileError, ModelFileError
from prophase.json_types import JsonMapping, JsonObject
from prophase.modelfile import load_model, save_model
from prophase.papers.ai4dl.pickles import Noted, read_without_running
from prophase.phase.crbm import CRBM
from prophase.phase.labellers.labeller import NO_PHASE
from prophase.trace.series.block_products import in_blocks
from prophase.trace.series.kmeans_centres import nearest
from prophase.trace.series.usage_series import Floats, Ints

_NETWORK = ("W", "A", "B", "v_bias", "h_bias")


@dataclass
class Scaler:
    """Standard score: (x - mean) / scale.

    Examples
    --------
    >>> scaler = Scaler.of(np.array([[1.0], [3.0]]))
    >>> scaler.inverse_transform(scaler.transform(np.array([[5.0]])))
    array([[5.]])
    """

    mean_: Floats
    scale_: Floats

    @classmethod
    def of(cls, values: Floats) -> Scaler:
        """Learn from rows; a feature that never changes is only centred."""
        spread = values.std(axis=0)
        return cls(values.mean(axis=0), np.where(spread > 0, spread, 1.0))

    def transform(self, values: Floats) -> Floats:
        """Return rows in standard scores."""
        return np.asarray((np.asarray(values, dtype=np.float64) - self.mean_) / self.scale_)

    def inverse_transform(self, values: Floats) -> Floats:
        """Return standard scores in the unit of the features."""
        return np.asarray(np.asarray(values, dtype=np.float64) * self.scale_ + self.mean_)


@dataclass
class PhaseCentres:
    """Centres of the phases, in the space of hidden features.

    Examples
    --------
    >>> PhaseCentres(np.array([[0.0], [1.0]])).predict(np.array([[0.1], [0.9], [np.nan]]))
    array([ 0,  1, -1])
    """

    cluster_centers_: Floats

    def predict(self, features: Floats) -> Ints:
        """Return the nearest centre of each row; -1 where features are not known."""
        rows = np.asarray(features, np.float64)
        known = np.isfinite(rows).all(axis=1)
        found = np.full(len(rows), NO_PHASE, dtype=np.int64)
        found[known] = in_blocks(rows[known], lambda part: nearest(part, self.cluster_centers_))
        return found


@dataclass
class NetworkParts:
    """What one file of a model holds; absent parts are None."""

    crbm: CRBM | None = None
    kmeans: PhaseCentres | None = None
    scaler: Scaler | None = None
    features: tuple[str, ...] = ()
    exec_id: str | None = None
    #: phase that was split -> centres of its parts
    expansion: dict[int, Floats] = field(default_factory=dict)
    #: whether the original wrote it
    is_original: bool = False


def read_parts(path: Path | str) -> NetworkParts:
    """Return what a file holds: ours, a plain ``.npz``, or a pickle of the original.

    A folder is one that the original wrote: ``model_dict.pickle`` is read from it. Nothing in
    a file is executed.
    """
    source = Path(path)
    if source.is_dir():
        source = source / "model_dict.pickle"
    if not source.is_file():
        raise MissingFileError(
            f"{path}: there is no model at this path. Train one, or give the folder, .joblib or "
            ".npz file of an AI4DL model."
        )
    with source.open("rb") as stream:
        start = stream.read(4)
    if start[:2] != b"PK":
        return _from_pickle(source)
    if source.suffix == ".npz":
        return _from_npz(source)
    return _from_ours(source)


def save_part(path: Path | str, kind: str, parts: NetworkParts, seed: int) -> None:
    """Write one part, or all, to a model file that runs nothing when it is read."""
    arrays: JsonObject = {}
    if parts.crbm is not None:
        arrays |= parts.crbm.arrays()
    if parts.kmeans is not None:
        arrays["centroids"] = parts.kmeans.cluster_centers_
    if parts.scaler is not None:
        arrays |= {"scaler_mean": parts.scaler.mean_, "scaler_scale": parts.scaler.scale_}
    for phase, centres in parts.expansion.items():
        arrays[f"expansion_{phase}"] = centres
    save_model(
        path,
        kind=f"ai4dl.{kind}",
        meta={"exec_id": parts.exec_id},
        arrays=arrays,
        columns=parts.features,
        seed=seed,
    )


def _from_ours(source: Path) -> NetworkParts:
    held = load_model(source)
    if not held.kind.startswith("ai4dl."):
        raise ModelFileError(
            f"{source}: holds a model of kind {held.kind!r}, not one of AI4DL. Point to another."
        )
    parts = _from_arrays(source, held.arrays)
    parts.features, parts.exec_id = held.columns, held.meta["exec_id"]
    parts.expansion = {
        int(name.removeprefix("expansion_")): np.asarray(value)
        for name, value in held.arrays.items()
        if name.startswith("expansion_")
    }
    return parts


def _from_npz(source: Path) -> NetworkParts:
    try:
        with np.load(source, allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
    except (OSError, ValueError) as cause:
        raise ModelFileError(f"{source}: cannot be read: {cause}. Copy it again.") from cause
    parts = _from_arrays(source, arrays)
    if "features" in arrays:
        parts.features = tuple(str(name) for name in arrays["features"])
    if "centroids_expand" in arrays and "expand_target" in arrays:
        parts.expansion = {int(arrays["expand_target"]): arrays["centroids_expand"]}
    return parts


def _from_arrays(source: Path, arrays: JsonMapping) -> NetworkParts:
    parts = NetworkParts()
    if all(name in arrays for name in _NETWORK):
        parts.crbm = CRBM.from_arrays({name: arrays[name] for name in _NETWORK})
    if "centroids" in arrays:
        parts.kmeans = PhaseCentres(np.asarray(arrays["centroids"], dtype=np.float64))
    if "scaler_mean" in arrays and "scaler_scale" in arrays:
        parts.scaler = Scaler(
            np.asarray(arrays["scaler_mean"], dtype=np.float64),
            np.asarray(arrays["scaler_scale"], dtype=np.float64),
        )
    if parts.crbm is None and parts.kmeans is None and parts.scaler is None:
        raise ModelFileError(
            f"{source}: holds neither network (W, A, B, v_bias, h_bias) nor centroids nor scaler "
            f"(scaler_mean, scaler_scale), but {', '.join(arrays) or 'nothing'}."
        )
    return parts


def _from_pickle(source: Path) -> NetworkParts:
    """Take the numbers out of what the original wrote: a network, a k-means or a scaler."""
    held = read_without_running(source)
    state = held.state if isinstance(held, Noted) else held
    if isinstance(state, dict):
        if all(isinstance(state.get(name), np.ndarray) for name in _NETWORK):
            network = CRBM.from_arrays({name: state[name] for name in _NETWORK})
            return NetworkParts(crbm=network, is_original=True)
        if isinstance(state.get("cluster_centers_"), np.ndarray):
            return NetworkParts(kmeans=PhaseCentres(state["cluster_centers_"].astype(np.float64)))
        if isinstance(state.get("mean_"), np.ndarray) and "scale_" in state:
            return NetworkParts(scaler=Scaler(state["mean_"], state["scale_"]))
    raise ModelFileError(
        f"{source}: is a pickle, but not of an AI4DL network, k-means or scaler. Nothing of it "
        "was executed. Point to another file."
    )
