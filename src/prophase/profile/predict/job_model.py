"""One model of jobs: how long they run and what they use, one predictor per target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from prophase.array_types import Floats
from prophase.errors import (
    InputError,
    MissingColumnError,
    ModelFileError,
    ParameterError,
    not_among,
)
from prophase.json_types import JsonObject
from prophase.modelfile import Model, load_model, save_model
from prophase.plural import counted
from prophase.profile.predict.methods import full_name, predictor_named
from prophase.profile.predict.missing_columns import Exemplars, absent_columns, fill_table
from prophase.profile.predict.packed_objects import Packer, Unpacker
from prophase.profile.predict.predictor import FEWEST_FINISHED, Predictor, moments
from prophase.profile.predict.seen_values import SeenValues
from prophase.profile.predict.submit_columns import Columns, limits, numbers, submitted
from prophase.short_form import ShortForm
from prophase.version import __version__

KIND = "profile.predict"
#: raised when what the tree of a model holds changes its meaning
LAYOUT = 8
_PROBES = 8
#: what is learned unless targets are named, in the order answers are shown
USUAL_TARGETS = (
    "duration_s",
    "cpu_mean_cores",
    "cpu_peak_cores",
    "memory_mean_gib",
    "memory_peak_gib",
    "gpu_util_mean_pct",
    "gpu_memory_mean_gib",
    "gpu_memory_peak_gib",
    "read_bytes",
    "write_bytes",
    "read_count",
    "write_count",
)


@dataclass(frozen=True, repr=False)
class JobModel(ShortForm):
    """What was learned from a history: a predictor per target, and where it came from.

    Examples
    --------
    >>> jobs = pd.DataFrame({"user": ["ann", "bob"] * 20, "duration_s": [60.0, 600.0] * 20})
    >>> model = learn(jobs, method="backoff-median")
    >>> model.predict(pd.DataFrame({"user": ["bob"]}))["value"].round().tolist()
    [600.0]
    """

    predictors: Mapping[str, Predictor]
    #: name of the method
    method: str
    #: finished jobs it has learned from
    jobs: int
    #: hash of the data it has learned from
    data_hash: str = ""
    random_state: int = 0
    #: targets that were left out, and why
    notes: tuple[str, ...] = ()
    #: values that the columns had in the history
    seen: SeenValues = field(default_factory=SeenValues.nothing)
    #: jobs that stand in for what a job does not say
    exemplars: Exemplars = field(default_factory=lambda: Exemplars({}, {}))

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(self.predictors)

    @property
    def columns(self) -> tuple[str, ...]:
        """Submit-time columns that any answer depends on."""
        read = (name for one in self.predictors.values() for name in one.history_.text.names)
        return tuple(sorted({*self.told_apart, *read}))

    @property
    def told_apart(self) -> tuple[str, ...]:
        """Columns whose values count as such; others are read as text."""
        names: dict[str, None] = {}
        for predictor in self.predictors.values():
            names |= dict.fromkeys(predictor.history_.columns)
            names |= dict.fromkeys(predictor.history_.number_columns)
        return tuple(sorted(names))

    @property
    def origin(self) -> dict[str, str | int]:
        """What its answers depend on: method, data hash, seed and version."""
        return {
            "method": self.method,
            "data_hash": self.data_hash,
            "seed": self.random_state,
            "version": __version__,
        }

    @property
    def table(self) -> pd.DataFrame:
        """A row per target: how many jobs and kinds of job it was learnt from."""
        return pd.DataFrame(self.target_rows())

    def target_rows(self) -> list[dict[str, object]]:
        """Return a row per target: how many jobs and kinds of job it was learnt from."""
        return [
            {"target": name, "jobs": len(one.history_), "kinds": len(one.history_.levels)}
            for name, one in self.predictors.items()
        ]

    def summary(self) -> list[str]:
        """Say what was learnt, from how many jobs and how."""
        said = f"JobModel ({self.method}) of {counted(self.jobs, 'job')}"
        return [said, f"predicts {', '.join(self.targets)}", *self.notes]

    def to_dict(self) -> JsonObject:
        """Return what was learnt and from what."""
        return {
            **self.origin,
            "jobs": self.jobs,
            "columns": list(self.columns),
            "targets": self.target_rows(),
            "notes": list(self.notes),
        }

    def predict(
        self,
        jobs: pd.DataFrame,
        targets: Sequence[str] | None = None,
        as_of: Floats | Literal["submit"] | None = None,
        *,
        ordered: bool = False,
    ) -> pd.DataFrame:
        """Return one row per job and target, the targets of a job one after the other.

        Parameters
        ----------
        jobs : DataFrame
            Jobs to be answered for; only what is known at submission is read. Columns that
            the history's jobs usually have, and none of these, are taken from finished
            jobs like each.
        targets : sequence of str, optional
            Some of :attr:`targets`, all if not given.
        as_of : "submit" or array, optional
            Use only what was known before this moment: of each job's own submission, or the
            given ones. Without it, everything counts.
        ordered : bool, default=False
            Add ``order_by``, the number that a scheduler ranks jobs by.

        Returns
        -------
        DataFrame
            What :meth:`Predictor.predict` returns, with the column ``target`` before it if
            there is more than one; the index then repeats that of ``jobs``.
        """
        wanted = self.check_targets(targets)
        self.refuse_foreign(jobs)
        moment = moments(jobs, as_of)
        filled = fill_table(self.exemplars, jobs, apart=moment is not None)
        novelty = self.seen.novelty(jobs, moment)
        parts = []
        for target in wanted:
            predictor = self.predictors[target]
            if filled is None:
                answers = predictor.answers(jobs, moment, ordered=ordered)
            else:
                answers = filled.answers(predictor, jobs, moment, ordered=ordered)
            told = novelty.told(answers, predictor.bounds_, limits(jobs), yes_no=predictor.yes_no_)
            found = pd.DataFrame(told, index=jobs.index)
            if len(wanted) == 1:
                return found
            found.insert(0, "target", target)
            parts.append(found)
        whole = pd.concat(parts)
        # job by job, targets in their order
        order = np.arange(len(whole)).reshape(len(wanted), len(jobs)).T.ravel()
        return whole.iloc[order]

    def absent(self, jobs: pd.DataFrame) -> list[str]:
        """Return the columns that :meth:`predict` takes from finished jobs."""
        return absent_columns(self.exemplars, jobs)

    def update(self, finished: pd.DataFrame) -> None:
        """Let finished jobs count from now on, for every target that they have."""
        for target, predictor in self.predictors.items():
            if target in finished:
                predictor.update(finished)
        object.__setattr__(self, "seen", self.seen.joined(finished))
        object.__setattr__(self, "exemplars", self.exemplars.joined(finished))

    def check_targets(self, targets: Sequence[str] | None) -> list[str]:
        """Return the targets, or refuse those this model has not learned."""
        wanted = list(dict.fromkeys(targets)) if targets is not None else list(self.targets)
        for name in wanted:
            if name not in self.predictors:
                raise ParameterError(
                    not_among(
                        f"this model has not learned {name!r}.",
                        name,
                        self.targets,
                        heading="It knows",
                    )
                )
        return wanted

    def refuse_foreign(self, jobs: pd.DataFrame | Columns) -> None:
        """Refuse jobs that have no column the model was learned with."""
        known = set(self.columns)
        if known and not known & set(map(str, jobs.columns)):
            raise MissingColumnError(
                "the jobs have none of the columns this model was learned with "
                f"({', '.join(self.columns)}). Give jobs in the same columns, or learn a model "
                "from a history that has theirs."
            )

    def save(self, path: Path | str) -> str:
        """Write the model to one file and return its checksum.

        Answers to a few probes are kept with it, so that loading can prove itself right.
        """
        packer = Packer()
        meta: JsonObject = {
            "layout": LAYOUT,
            "method": self.method,
            "jobs": self.jobs,
            "notes": list(self.notes),
            "targets": list(self.predictors),
            "seen": packer.pack(self.seen),
            "exemplars": packer.pack(self.exemplars),
            "predictors": [packer.pack(one) for one in self.predictors.values()],
            "probes": [packer.pack(_probe(one)) for one in self.predictors.values()],
        }
        return save_model(
            path,
            kind=KIND,
            meta=meta,
            arrays=packer.arrays,
            blobs=packer.blobs,
            columns=self.columns,
            data_hash=self.data_hash,
            seed=self.random_state,
        )

    @classmethod
    def load(cls, path: Path | str) -> JobModel:
        """Return the model of a file; it answers as the one that was saved, or is refused."""
        held = load_model(path, kind=KIND)
        layout = held.meta.get("layout")
        if layout != LAYOUT:
            raise ModelFileError(
                f"{path}: was written with layout {layout} by Prophase {held.version}; this "
                f"version reads layout {LAYOUT}. Learn the model again with: prophase learn"
            )
        try:
            return cls._restored(held)
        except (ModelFileError, LookupError, TypeError, ValueError, AttributeError) as cause:
            raise ModelFileError(
                f"{path}: the model cannot be put together again: {cause}. It was written by "
                f"Prophase {held.version}. Learn it again with: prophase learn"
            ) from cause

    @classmethod
    def _restored(cls, held: Model) -> JobModel:
        unpacker = Unpacker(held.arrays, held.blobs)
        meta = held.meta
        predictors = {}
        for target, packed, probe in zip(
            meta["targets"], meta["predictors"], meta["probes"], strict=True
        ):
            predictor = unpacker.unpack(packed)
            if not isinstance(predictor, Predictor) or predictor.target_ != target:
                raise ModelFileError(f"its part for {target} is something else")
            if predictor.history_.meanings is not None:
                predictor.history_.meanings.check_encoder()
            # machines differ in the last bits of a logarithm, and in no more
            was = unpacker.unpack(probe)
            if not np.allclose(_probe(predictor), was, rtol=1e-6, equal_nan=True):
                raise ModelFileError(f"its answers for {target} are not those it was saved with")
            predictors[target] = predictor
        return cls(
            predictors,
            meta["method"],
            meta["jobs"],
            held.data_hash,
            held.seed or 0,
            tuple(meta["notes"]),
            unpacker.unpack(meta["seen"]),
            unpacker.unpack(meta["exemplars"]),
        )


def _probe(predictor: Predictor) -> Floats:
    """Return what a predictor says of a few jobs with keys of its own history."""
    history = predictor.history_
    rows = np.unique(np.linspace(0, len(history) - 1, _PROBES).astype(np.intp))
    keys = tuple(memory.some_keys(rows) for memory in history.memories)
    question = replace(history.ask(pd.DataFrame(index=range(len(rows)))), keys=keys)
    answer = predictor._answer(question, history.recall(question))
    return np.stack([answer.point, answer.low, answer.high])


def learn(
    history: pd.DataFrame,
    targets: Sequence[str] | None = None,
    *,
    method: str = "default",
    random_state: int = 0,
    data_hash: str = "",
    progress: Callable[[str], None] | None = None,
) -> JobModel:
    """Learn duration and use from finished jobs.

    Parameters
    ----------
    history : DataFrame
        A job table.
    targets : sequence of str, optional
        Columns to predict. Duration and every usage column that has values if not given.
    method : str, default="default"
        One of ``METHODS``.
    data_hash : str
        Hash of the history; a saved model is used again for the same one.

    Examples
    --------
    >>> jobs = pd.DataFrame({"user": ["ann"] * 20, "duration_s": 60.0, "read_bytes": None})
    >>> learn(jobs, method="shrinkage").targets
    ('duration_s',)
    """
    # here and not above: a model that is kept answers without the linter and its table engine
    from prophase.profile.predict.learnable import learnable

    history, found = learnable(history)
    return learn_all(history, targets, method=method, random_state=random_state,
                     data_hash=data_hash, progress=progress, notes=found)  # fmt: skip


def learn_all(
    history: pd.DataFrame,
    targets: Sequence[str] | None = None,
    *,
    method: str = "default",
    random_state: int = 0,
    data_hash: str = "",
    progress: Callable[[str], None] | None = None,
    notes: Sequence[str] = (),
) -> JobModel:
    """Learn as :func:`learn` does, of a history that was looked at already (:mod:`learnable`)."""
    notes = list(notes)
    wanted = list(dict.fromkeys(targets)) if targets else _usual(history, method, notes)
    if not wanted:
        raise InputError(
            f"no target has {FEWEST_FINISHED} finished jobs to learn from"
            + (f" ({' '.join(notes)})" if notes else "")
            + ". Import a trace of finished jobs, or name a column as the target."
        )
    predictors = {}
    for target in wanted:
        if progress is not None:
            progress(target)
        found_by = predictor_named(method, random_state=random_state).fit(history, target)
        if found_by.encoder is not None and found_by.history_.meanings is None:
            notes.append(
                f"{target}: names are read as words alone; {found_by.encoder} did not win on later "
                "parts of the history."
            )
        predictors[target] = found_by
    model = JobModel(
        predictors, full_name(method), len(history), data_hash, random_state, tuple(notes)
    )
    columns = model.told_apart
    # what all jobs share tells none apart, but a job with another value is unlike all of them
    shared = (name for name in map(str, submitted(history)) if _is_shared(history[name]))
    seen = SeenValues.of(history, [*columns, "time_limit_s", *shared])
    return replace(model, seen=seen, exemplars=Exemplars.of(history, columns))


def _is_shared(values: pd.Series) -> bool:
    """Say whether every job has the same value, if it has one; of requests, any value will do."""
    if str(values.name).startswith("request_"):
        return True
    known = values.dropna()
    # of most columns a few rows tell
    parts = (known.iloc[:100], known)
    return len(known) > 0 and all(bool((part == known.iloc[0]).all()) for part in parts)


def _usual(history: pd.DataFrame, method: str, notes: list[str]) -> list[str]:
    """Return the usual targets that have enough values, and note those that do not."""
    found = []
    for target in USUAL_TARGETS:
        if method == "time-limit" and target != "duration_s":
            continue
        values = numbers(history, target)
        known = int((np.isfinite(values) & (values >= 0)).sum())
        if known >= FEWEST_FINISHED:
            found.append(target)
        elif known:
            notes.append(f"{target} is not learned: {counted(known, 'job has', 'jobs have')} it.")
    return found
