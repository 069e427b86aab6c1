"""Which kind of job is it? Profiles from history, and predictions from metadata."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.profile.advice.advice import Advice
    from prophase.profile.advice.asking import ask
    from prophase.profile.advice.node_types import rank_for_job, rank_node_types
    from prophase.profile.predict.job_model import JobModel, learn
    from prophase.profile.slo.judging import judge_slo
    from prophase.profile.slo.rules import read_rules
    from prophase.profile.submission.reading import read_submissions

_HOMES = {
    "Advice": "advice.advice",
    "JobModel": "predict.job_model",
    "ask": "advice.asking",
    "judge_slo": "slo.judging",
    "learn": "predict.job_model",
    "rank_for_job": "advice.node_types",
    "rank_node_types": "advice.node_types",
    "read_rules": "slo.rules",
    "read_submissions": "submission.reading",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "Advice",
    "JobModel",
    "ask",
    "judge_slo",
    "learn",
    "rank_for_job",
    "rank_node_types",
    "read_rules",
    "read_submissions",
]
