"""One door to all models: name, parameters, answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

from prophase.errors import ParameterError, not_among
from prophase.sim.queueing.ggc import GGC_METHODS, ggc
from prophase.sim.queueing.mgc import MDC_METHODS, MGC_METHODS, mdc, mg1, mgc
from prophase.sim.queueing.mmc import LossAnswer, loss, mmc, mmck
from prophase.sim.queueing.parameter_checks import least_stable_servers
from prophase.sim.queueing.parsing import ServiceTarget, parse_service_target
from prophase.sim.queueing.queue_answer import QueueAnswer
from prophase.sim.queueing.staffing import least_servers


@dataclass(frozen=True)
class QueueModel:
    """A queue that can be asked for by name."""

    name: str
    title: str
    solve: Callable[..., QueueAnswer | LossAnswer]
    methods: tuple[str, ...] = ()
    #: whether jobs are turned away instead of waiting without end
    loses: bool = False

    @property
    def parameters(self) -> dict[str, bool]:
        """Names of the parameters, and whether each must be given."""
        return {
            name: one.default is Parameter.empty
            for name, one in signature(self.solve).parameters.items()
        }


MODELS: dict[str, QueueModel] = {
    one.name: one
    for one in (
        QueueModel("mmc", "Poisson arrivals, exponential service, c servers (exact)", mmc),
        QueueModel(
            "mmck", "the same with room for K jobs; others are lost (exact)", mmck, loses=True
        ),
        QueueModel(
            "loss", "no queue: who finds no server is lost (Erlang B, exact)", loss, loses=True
        ),
        QueueModel("mg1", "Poisson arrivals, any service, one server (exact mean)", mg1),
        QueueModel("mgc", "Poisson arrivals, any service, c servers", mgc, tuple(MGC_METHODS)),
        QueueModel("mdc", "Poisson arrivals, constant service, c servers", mdc, tuple(MDC_METHODS)),
        QueueModel("ggc", "any arrivals, any service, c servers", ggc, tuple(GGC_METHODS)),
    )
}


def answer(
    model: str, *, target: str | ServiceTarget | None = None, **parameters: Any
) -> QueueAnswer | LossAnswer:
    """Return what a model says, or the answer with the fewest servers that meet a target.

    Parameters
    ----------
    model : str
        One of ``MODELS``: mmc, mmck, loss, mg1, mgc, mdc, ggc.
    target : str or ServiceTarget, optional
        Such as ``"P(wait > 60 s) < 5%"``; ``servers`` is then found, not given.
    **parameters
        Those of the model's function, such as ``arrivals_per_s``.

    Examples
    --------
    >>> round(answer("mmc", arrivals_per_s=45.0, service_mean_s=1.0, servers=50).utilisation, 3)
    0.9
    >>> answer("mmc", arrivals_per_s=45.0, service_mean_s=1.0, target="P(wait > 1 s) < 5%").servers
    48
    """
    found = model_named(model)
    given = {name: value for name, value in parameters.items() if value is not None}
    if target is not None and "servers" in found.parameters:
        if "servers" in given:
            raise ParameterError("a target finds the servers; leave out servers or target.")
        return _fewest(
            found, given, parse_service_target(target) if isinstance(target, str) else target
        )
    if target is not None:
        raise ParameterError(f"{model} has one server, so a target cannot be reached by more.")
    _check_names(found, given)
    return found.solve(**given)


def model_named(name: str) -> QueueModel:
    """Return a model, or refuse with the nearest name."""
    if name not in MODELS:
        raise ParameterError(not_among(f"model {name!r} is unknown.", name, MODELS))
    return MODELS[name]


def _fewest(
    model: QueueModel, given: dict[str, Any], target: ServiceTarget
) -> QueueAnswer | LossAnswer:
    _check_names(model, {**given, "servers": 1})
    service = given.get("service_mean_s", given.get("service_s", 0.0))
    load = given["arrivals_per_s"] * service
    first = 1 if model.loses else least_stable_servers(load)
    room = given.pop("capacity", None)

    def evaluate(servers: int) -> QueueAnswer | LossAnswer:
        # more servers never mean less room
        extra = {} if room is None else {"capacity": max(room, servers)}
        return model.solve(**given, **extra, servers=servers)

    return least_servers(evaluate, target.met_by, first=first)[1]


def _check_names(model: QueueModel, given: dict[str, Any]) -> None:
    unknown = [name for name in given if name not in model.parameters]
    if unknown:
        raise ParameterError(
            f"{model.name} has no parameter {unknown[0]!r}. It takes {', '.join(model.parameters)}."
        )
    missing = [name for name, needed in model.parameters.items() if needed and name not in given]
    if missing:
        raise ParameterError(f"{model.name} needs {', '.join(missing)}.")
