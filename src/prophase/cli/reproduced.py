"""What came out of one published source: rows, verdicts, and their report."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from prophase.cli.output import progress_bar
from prophase.cli.reproduce_sources import REMARKS, RUNNERS, Options, Rows

if TYPE_CHECKING:
    from prophase.plots.page import Page
    from prophase.study.report import Report


class Reproduced:
    """What came out of one source."""

    def __init__(
        self,
        name: str,
        data: Path | None,
        options: Options,
        rows: Rows,
        also: Rows | None = None,
    ) -> None:
        from prophase.study.reproducing import claims_of, counts_of

        self.name, self.data, self.options = name, data, options
        self.rows, self.also = rows, also or []
        self.claims = claims_of(name, self.rows) + claims_of(name, self.also)
        self.counts = counts_of(self.claims)
        self.differing = sum(row["verdict"] == "DIFFERS" for row in rows)
        self.kind = "synthetic" if data is None else "real"

    @classmethod
    def run(cls, name: str, given: Path | None, options: Options, workers: int | str) -> Reproduced:
        from prophase.study.reproducing import data_of
        from prophase.study.reproducing.stand_ins import also

        data = data_of(name, given)
        with progress_bar() as progress:
            rows = RUNNERS[name][0](
                data,
                options,
                workers,
                lambda done, total: progress(f"{name}: {done} of {total}", 100 * done / total),
            )
        return cls(name, data, options, rows, also(name, data))

    def contents(self) -> list[dict[str, str]]:
        """Return every table and figure of the source, and what came of it."""
        from prophase.study.reproducing import contents_of

        return contents_of(self.name, self.claims)

    def report(self) -> Report:
        from prophase.study.report import DataUsed
        from prophase.study.reproducing import data_used, reproduction_report

        return reproduction_report(
            self.name,
            self.claims,
            data=[DataUsed(words, kind=kind) for words, kind in data_used(self.name, self.data)],
            real=self.data is not None,
            command=self._command(),
            remarks=REMARKS.get(self.name, ()),
        )

    def page(self) -> Page:
        from prophase.plots.report import report_page

        return report_page(self.report())

    def write(self, folder: Path) -> Path:
        from prophase.plots.report import write_report

        return write_report(self.report(), folder / self.name)

    def closing(self) -> str:
        if self.differing:
            return f"{self.differing} of {len(self.rows)} rows differ from what was published."
        origin = "real data" if self.data is not None else "synthetic data"
        if self.rows and "claim" not in self.rows[0] and self.data is not None:
            return "Everything that has published numbers agrees with them."
        counts = Counter(str(row["verdict"]) for row in self.rows)
        words = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
        return f"On {origin}: {words}."

    def _command(self) -> str:
        parts = ["prophase", "reproduce", self.name]
        if self.data is not None:
            parts += ["--data", str(self.data)]
        for key, value in self.options.items():
            parts += [f"--{key}", value]
        return shlex.join(parts)
