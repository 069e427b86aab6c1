"""Write the tables of a trace as CSV files, truth included."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv

from prophase.errors import storage_error


def write_csv(tables: Mapping[str, pd.DataFrame], folder: Path | str) -> list[Path]:
    """Write one CSV with a header per table into the folder; return the paths.

    Missing values are empty fields.
    """
    folder = Path(folder)
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, frame in tables.items():
            path = folder / f"{name}.csv"
            table = pa.Table.from_pandas(frame, preserve_index=False)
            pacsv.write_csv(table, str(path), pacsv.WriteOptions(quoting_style="needed"))
            written.append(path)
    except OSError as cause:
        raise storage_error(cause, cause.filename or folder) from cause
    return written
