"""When will a waiting job start? Forecasts from the queue as it is now."""

from prophase.sim.forecast.coverage import Coverage, calibrate, measure_coverage
from prophase.sim.forecast.holding import recorded_jobs
from prophase.sim.forecast.remaining import RunTimes
from prophase.sim.forecast.starting import StartForecast, forecast_start
from prophase.sim.forecast.state import QueueState
from prophase.sim.forecast.stretch import Stretch

__all__ = [
    "Coverage",
    "QueueState",
    "RunTimes",
    "StartForecast",
    "Stretch",
    "calibrate",
    "forecast_start",
    "measure_coverage",
    "recorded_jobs",
]
