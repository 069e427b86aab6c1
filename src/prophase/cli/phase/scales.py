"""prophase phase scales: phases of single samples, of minutes, of hours."""

from __future__ import annotations

from prophase.cli.output import Format, FormatOption, progress_bar, show_result
from prophase.cli.phase.options import MetricOption, read_usage
from prophase.cli.shared_options import SeedOption
from prophase.cli.trace_options import ReaderOption, SourceOption, TraceArgument


def command(
    path: TraceArgument,
    metric: MetricOption = None,
    seed: SeedOption = 0,
    source: SourceOption = None,
    option: ReaderOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Look at series in ever longer steps: iterations, epochs and stages.

    Examples:

    `prophase phase scales ws`

    `prophase phase scales run.csv --metric cpu_util_pct --metric memory_gib`
    """
    from prophase.phase.detector import PhaseDetector
    from prophase.phase.time_scales import scales_result

    with progress_bar() as progress:
        progress("reading the series", None)
        usage = read_usage(path, source, option)
        detector = PhaseDetector(metrics=metric or None, random_state=seed)
        found = detector.scales(usage, progress=progress)
    show_result(scales_result(found).noted("Next: prophase phase fit PATH --step STEP"), format)
