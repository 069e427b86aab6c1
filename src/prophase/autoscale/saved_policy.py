"""A tuned policy as a file, and what it decides for a run that goes on.

A decision is made as the back-test makes it: from the samples of the run so far, by the same
plan. The same samples give the same allocation, to the digit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from prophase.autoscale.allocation_measures import is_memory
from prophase.autoscale.fleet import Fleet, Floats
from prophase.autoscale.memory_kills import KillRule
from prophase.autoscale.phase_labels import RunLabeller, labelled
from prophase.autoscale.policies.vpa import Vpa
from prophase.autoscale.policy import Hysteresis, ScalingPolicy
from prophase.autoscale.policy_catalogue import POLICIES, WITH_PHASES
from prophase.autoscale.policy_comparison import PolicyComparison, PolicyScore
from prophase.errors import ModelFileError, ParameterError
from prophase.json_types import JsonObject
from prophase.lazy_imports import optional
from prophase.modelfile import Parts, load_model, save_model

KIND = "autoscale.policy"
#: the policy that is asked when the learnt one cannot be trusted
_FALLBACK = "fallback."
#: the phase detector that gives the policy its phases
_PHASES = "phases"


@dataclass(frozen=True)
class SavedPolicy:
    """A policy that was chosen and tuned on fit series, ready to decide for others."""

    policy: ScalingPolicy
    dial: float
    rule: Hysteresis
    #: what is allocated, every how many samples of how many seconds
    metric: str
    every: int
    step_s: float
    #: VPA's rule, for runs that are unlike the fit series
    fallback: ScalingPolicy
    #: the highest use learnt from
    highest: float
    kills: KillRule = field(default_factory=KillRule)
    #: kills per pod-day expected on new series; None for what kills nobody
    kills_per_pod_day: float | None = None
    #: what is expected on new series, and what was asked
    expected: Mapping[str, Any] = field(default_factory=dict)
    asked: str = ""
    data_hash: str = ""
    #: what tells the phases apart that the policy was learnt with; None if it needs none
    labeller: RunLabeller | None = None

    @property
    def name(self) -> str:
        return self.policy.name

    @property
    def others(self) -> tuple[str, ...]:
        """Further metrics that the policy, or what tells its phases apart, looks at."""
        own = tuple(getattr(self.policy, "others_", ()))
        seen = self.labeller.metrics if self.labeller else ()
        return tuple(dict.fromkeys([*own, *(name for name in seen if name != self.metric)]))

    def allocation(
        self,
        use: Sequence[float] | Floats,
        others: Mapping[str, Sequence[float] | Floats] | None = None,
        *,
        fallback: bool = False,
    ) -> float:
        """Return what a run is given until its next decision.

        Parameters
        ----------
        use : sequence of float
            Samples of the run from its start; those since the last decision change nothing.
        others : mapping, optional
            Metric -> samples of the other metrics that the policy looks at.
        fallback : bool, default=False
            Ask VPA's rule instead.
        """
        known = len(use) // self.every * self.every
        fleet = self._run(np.asarray(use, np.float64)[:known], others or {})
        if fallback:
            plan, dial, rule = self.fallback.plan(fleet), 1.0, Hysteresis()
        else:
            fleet = labelled(fleet, self.labeller)
            plan, dial, rule = self.policy.plan(fleet), self.dial, self.rule
        return float(plan.allocate(dial, rule)[-1])

    def is_known(self, use: Sequence[float] | Floats) -> bool:
        """Return whether a run stays within what the policy has learnt from."""
        return not len(use) or float(np.max(use)) <= self.highest

    def _run(self, use: Floats, others: Mapping[str, Sequence[float] | Floats]) -> Fleet:
        # one sample more, whose value nobody looks at: the interval that is decided for
        held = {}
        for name in self.others:
            values = np.asarray(others.get(name, ()), np.float64)[: len(use)]
            filled = np.full(len(use) + 1, np.nan)
            filled[: len(values)] = values
            held[name] = filled
        whole = np.append(use, use[-1] if len(use) else 0.0)
        lengths = np.array([len(whole)], np.int64)
        return Fleet(("run",), whole, lengths, self.every, self.step_s, self.metric, None, held)

    def save(self, path: Path | str) -> str:
        """Write the policy to a file and return its checksum."""
        own, other = _parts_of(self.policy), _parts_of(self.fallback)
        meta: JsonObject = {
            "policy": self.policy.name,
            "state": own.meta,
            "fallback": other.meta,
            "dial": self.dial,
            "hysteresis": [self.rule.up, self.rule.down],
            "metric": self.metric,
            "every": self.every,
            "step_s": self.step_s,
            "highest": self.highest,
            "kills": vars(self.kills),
            "kills_per_pod_day": self.kills_per_pod_day,
            "expected": dict(self.expected),
            "asked": self.asked,
        }
        arrays = {**own.arrays, **{_FALLBACK + name: a for name, a in other.arrays.items()}}
        return save_model(
            path,
            kind=KIND,
            meta=meta,
            arrays=arrays,
            blobs=own.blobs if self.labeller is None else {**own.blobs, _PHASES: self._packed},
            columns=(self.metric, *self.others),
            data_hash=self.data_hash,
        )

    @property
    def _packed(self) -> bytes:
        assert self.labeller is not None
        return self.labeller.packed()

    @staticmethod
    def load(
        path: Path | str, labeller: Callable[[bytes], RunLabeller] | None = None
    ) -> SavedPolicy:
        """Return the policy in a file.

        Parameters
        ----------
        labeller : callable, optional
            Makes a phase detector of what `RunLabeller.packed` gave, for a policy with phases:
            see `prophase.study.phase_scaling.load_policy`.
        """
        found = load_model(path, KIND)
        blobs = dict(found.blobs)
        packed = blobs.pop(_PHASES, None)
        if packed is not None and labeller is None:
            raise ParameterError(
                f"{path} holds a phase detector. Load it with study.phase_scaling.load_policy."
            )
        meta = found.meta
        if meta["policy"] not in POLICIES:
            raise ModelFileError(
                f"{path}: policy {meta['policy']!r} is unknown to this version. Fit it again."
            )
        if not set(POLICIES[meta["policy"]].learnt) <= set(meta["state"]):
            raise ModelFileError(f"{path}: was learnt by an earlier version. Fit it again.")
        own = {name: a for name, a in found.arrays.items() if not name.startswith(_FALLBACK)}
        other = {
            name.removeprefix(_FALLBACK): a
            for name, a in found.arrays.items()
            if name.startswith(_FALLBACK)
        }
        return SavedPolicy(
            policy=_restored(POLICIES[meta["policy"]](), Parts(meta["state"], own, blobs)),
            dial=float(meta["dial"]),
            rule=Hysteresis(*meta["hysteresis"]),
            metric=str(meta["metric"]),
            every=int(meta["every"]),
            step_s=float(meta["step_s"]),
            fallback=_restored(Vpa(), Parts(meta["fallback"], other)),
            highest=float(meta["highest"]),
            kills=KillRule(**meta["kills"]),
            kills_per_pod_day=meta["kills_per_pod_day"],
            expected=meta["expected"],
            asked=str(meta["asked"]),
            data_hash=found.data_hash,
            labeller=labeller(packed) if packed is not None and labeller else None,
        )


def saved_policy(
    found: PolicyComparison, policy: str | None = None, *, data_hash: str = ""
) -> SavedPolicy:
    """Return the winner of a comparison, or a named policy of it, ready to be saved."""
    chosen = found.winner if policy is None else found.named(policy)
    if chosen is None:
        raise ParameterError(
            f"no policy keeps to {found.objective} on these series, so none is chosen. Ask for "
            "less, allow more resizes, or name a policy with --choose."
        )
    if chosen.policy == "oracle":
        raise ParameterError("the oracle looks ahead: it can be compared with, but not run.")
    return _of_score(found, chosen, data_hash)


def _of_score(found: PolicyComparison, chosen: PolicyScore, data_hash: str) -> SavedPolicy:
    fit, tuned = found.fit, chosen.tuned
    expected = tuned.expected
    row = expected.row()
    kills = found.expected_kills(chosen)
    if kills is not None:
        row |= kills.columns("kills_per_pod_day")
    return SavedPolicy(
        policy=tuned.policy,
        dial=tuned.dial,
        rule=tuned.rule,
        metric=fit.metric,
        every=fit.every,
        step_s=fit.step_s,
        fallback=Vpa().fit(fit, found.objective.share),
        highest=float(fit.use.max()),
        kills=found.objective.rule,
        kills_per_pod_day=expected.kills_per_pod_day if is_memory(fit.metric) else None,
        expected={name: value for name, value in row.items() if value is not None},
        asked=str(found.objective),
        data_hash=data_hash,
        labeller=found.labeller if chosen.policy in WITH_PHASES else None,
    )


def _parts_of(policy: ScalingPolicy) -> Parts:
    meta: JsonObject = {}
    arrays, blobs = {}, {}
    for name, value in vars(policy).items():
        if isinstance(value, np.ndarray):
            arrays[name] = value
        elif isinstance(value, tuple):
            meta[name] = list(value)
        elif value is None or isinstance(value, str | int | float):
            meta[name] = value
        elif hasattr(value, "save_raw"):
            blobs[name] = bytes(value.save_raw("ubj"))
        else:
            raise ParameterError(
                f"the policy {policy.name} cannot be saved. Choose another one with --choose."
            )
    return Parts(meta, arrays, blobs)


def _restored(policy: ScalingPolicy, parts: Parts) -> ScalingPolicy:
    for name, value in parts.meta.items():
        setattr(policy, name, tuple(value) if isinstance(value, list) else value)
    for name, array in parts.arrays.items():
        setattr(policy, name, array)
    for name, blob in parts.blobs.items():
        library = optional("xgboost", f"The policy {policy.name!r}", "learn")
        trees = library.Booster()
        trees.load_model(bytearray(blob))
        # as when it was learnt: threads would mostly wait for one another
        trees.set_param({"nthread": 1})
        setattr(policy, name, trees)
    return policy
