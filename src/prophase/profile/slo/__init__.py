"""Service-level objectives on predicted metrics: violations told before a job starts."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.profile.slo.judging import SloReport, judge_slo
    from prophase.profile.slo.rules import Rule, read_rules

_HOMES = {
    "Rule": "rules",
    "SloReport": "judging",
    "judge_slo": "judging",
    "read_rules": "rules",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["Rule", "SloReport", "judge_slo", "read_rules"]
