"""A data set that is a CSV file with the columns question, answer and scene.

eqa bench run --dataset csv --data FOLDER        (FOLDER holds questions.csv)
"""

from __future__ import annotations

import csv

from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.traits import ReaderTraits
from eqa_nodes.core.types.samples import Sample

COLUMNS = {"question", "answer", "scene"}


class CsvReader:
    """Reads questions.csv; the line's number is the question's id."""

    traits = ReaderTraits(splits=False)

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError for a file that is missing or lacks a column."""
        path = options.files() / "questions.csv"
        try:
            with path.open(newline="", encoding="utf-8") as file:
                rows = csv.DictReader(file)
                if missing := COLUMNS - set(rows.fieldnames or ()):
                    raise ConfigError(f"{path} lacks the columns {', '.join(sorted(missing))}")
                return [Sample(f"csv-{rows.line_num}", row["question"], row["answer"], scene=row["scene"])
                        for row in rows]
        except OSError as error:
            raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
