"""Which kind of job is it? Profiles from history, and predictions from metadata."""

from typing import TYPE_CHECKING

from prophase.lazy_imports import lazy_names

if TYPE_CHECKING:
    from prophase.profile.job_forecast.forecast import JobForecast
    from prophase.profile.job_forecast.forecast_builder import ask
    from prophase.profile.node_types import rank_for_job, rank_node_types
    from prophase.profile.predict.job_model import JobModel, learn
    from prophase.profile.slo import judge_slo, read_rules
    from prophase.profile.submission.job_file import read_submissions

_HOMES = {
    "JobForecast": "job_forecast.forecast",
    "JobModel": "predict.job_model",
    "ask": "job_forecast.forecast_builder",
    "judge_slo": "slo",
    "learn": "predict.job_model",
    "rank_for_job": "node_types",
    "rank_node_types": "node_types",
    "read_rules": "slo",
    "read_submissions": "submission.job_file",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "JobForecast",
    "JobModel",
    "ask",
    "judge_slo",
    "learn",
    "rank_for_job",
    "rank_node_types",
    "read_rules",
    "read_submissions",
]
