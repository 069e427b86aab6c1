"""Files: cut off, ragged, or refused by their reader."""

from __future__ import annotations

from collections.abc import Iterator

from prophase import units
from prophase.errors import FanOutError
from prophase.trace.lint.check_registry import LintFinding, LintSubject, check
from prophase.trace.text_table import BAD

#: an import refuses a table with more damage than this, unless asked to
_TOLERATED = 0.01
#: a last line is called short only if nearly all others have one width
_AGREEMENT = 0.9
#: reasons that another check reports in its own words
_ELSEWHERE = ("wrong number of fields", "duration_s is negative")


@check("truncated-file", "files")
def truncated_file(subject: LintSubject) -> Iterator[LintFinding]:
    """Files that end too early."""
    for file in subject.files:
        if file.damage:
            yield LintFinding(
                "error",
                file.name,
                file.damage.splitlines()[0],
                "Copy or download the file again and compare its checksum.",
                rows=1,
                where=("end of file",),
            )
        elif not file.ends_with_newline and file.rows > 1:
            agreed = file.widths[file.width] >= _AGREEMENT * (file.rows - 1)
            short = file.last_width < file.width and agreed
            yield LintFinding(
                "error" if short else "info",
                file.name,
                f"The last line has {file.last_width} of {file.width} fields and no newline: the "
                "file was cut while it was written or copied."
                if short
                else "The last line has no newline. Many programs write it so, but a cut in the "
                "last field looks the same.",
                "Export or copy the file again; rows after the cut are lost."
                if short
                else "Compare the number of rows with the source if in doubt.",
                rows=1,
                share=1 / file.rows,
                where=("last line",),
            )


@check("header-width", "files")
def header_width(subject: LintSubject) -> Iterator[LintFinding]:
    """Headers with more or fewer names than the rows below have fields."""
    for file in subject.files:
        named, usual = len(file.header), file.width
        if not named or not file.rows or named == usual:
            continue
        index = usual == named + 1
        yield LintFinding(
            "warning" if index else "error",
            file.name,
            f"The header names {named} columns, but {file.widths[usual]:,} rows have {usual} fields"
            + (
                ": probably a row number in front that has no name. A reader that trusts the "
                "header takes every value from the column beside."
                if index
                else ". Every value may be read from the wrong column."
            ),
            "Add the missing name to the first line (such as `row,`), or use a reader that knows "
            "this layout."
            if index
            else "Correct the header, or export the file again with one name per field.",
            rows=file.widths[usual],
            share=file.widths[usual] / file.rows,
            where=("line 1",),
        )


@check("row-width", "files")
def row_width(subject: LintSubject) -> Iterator[LintFinding]:
    """Rows with more or fewer fields than most."""
    for file in subject.files:
        odd = file.rows - file.widths.get(file.width, 0)
        if file.last_width != file.width and not file.ends_with_newline:
            odd -= 1  # that line is reported as a cut
        if odd <= 0:
            continue
        share = odd / file.rows
        looked = "" if file.whole else f" in the first {file.rows:,} lines"
        yield LintFinding(
            "warning" if share <= _TOLERATED else "error",
            file.name,
            f"{odd:,} of {file.rows:,} rows ({units.percent(share)}){looked} do not have the "
            f"{file.width} fields of the others; an import leaves them out.",
            "Look at the lines named here: a separator inside an unquoted value, a line break in "
            "a name, or two writers in one file.",
            rows=odd,
            share=share,
            where=tuple(f"line {line} ({width} fields)" for line, width in file.odd),
        )


@check("unreadable", "refusal")
def unreadable(subject: LintSubject) -> Iterator[LintFinding]:
    """Traces that their reader refuses."""
    if subject.refusal is None or isinstance(subject.refusal, FanOutError):
        return
    if any(file.damage for file in subject.files):
        return
    said = str(subject.refusal).splitlines()
    yield LintFinding(
        "error",
        subject.source,
        f"The {subject.source} reader refuses these files, so the tables could not be checked. "
        + " ".join(said),
        "Correct what the message names, or choose another reader with --source.",
    )


@check("damaged-rows", "counts")
def damaged_rows(subject: LintSubject) -> Iterator[LintFinding]:
    """Rows the import left out because a value is impossible or missing."""
    for table, count in subject.counts.items():
        bad = {
            reason.removeprefix(BAD): n
            for reason, n in count.dropped.items()
            if reason.startswith(BAD) and reason.removeprefix(BAD) not in _ELSEWHERE
        }
        total = sum(bad.values())
        if not total:
            continue
        share = total / count.read
        listed = "; ".join(f"{n:,} x {reason}" for reason, n in bad.items())
        yield LintFinding(
            "warning" if share <= _TOLERATED else "error",
            table,
            f"{total:,} of {count.read:,} rows are damaged and were left out: {listed}.",
            "Correct them at the source. What is left may no longer be a fair sample.",
            rows=total,
            share=share,
        )
