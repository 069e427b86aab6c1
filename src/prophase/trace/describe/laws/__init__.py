"""Laws for durations and arrivals: fitted by maximum likelihood and judged without mercy."""

from prophase.trace.describe.laws.arrival import ArrivalFit, ArrivalLaws, fit_arrivals
from prophase.trace.describe.laws.fitting import SERVICE_LAWS, Fit, ServiceLaws, fit_service
from prophase.trace.describe.laws.law import Law

__all__ = [
    "SERVICE_LAWS",
    "ArrivalFit",
    "ArrivalLaws",
    "Fit",
    "Law",
    "ServiceLaws",
    "fit_arrivals",
    "fit_service",
]
