"""What a reader of a data set is asked for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from eqa_nodes.core.errors import ConfigError

DATA_VARIABLE = "EQA_DATA"
QUESTIONS = 500  # how many questions are generated unless a number is named


class ReaderOptions(NamedTuple):
    """folder: as named on the command line, None = that of the environment. split: "" = the reader's own default.

    limit: questions that are wanted, 0 = all; a reader of files may ignore it, for more than that are cut off. seed: of
    what is drawn or generated. task: ACTIVE, EM or TASKS of bench/samples.py.
    """

    name: str = ""
    folder: str | Path | None = None
    split: str = ""
    limit: int = 0
    seed: int = 0
    task: str = "active"

    def files(self) -> Path:
        """Return the folder of the data set's files. Raises ConfigError where none is named."""
        chosen = data_folder(self.folder)
        if chosen is None:
            raise ConfigError(f"the data set {self.name!r} is read from files: name their folder, or set "
                              f"{DATA_VARIABLE}")
        return chosen


def data_folder(folder: str | Path | None) -> Path | None:
    """Return the folder of published data sets: as named, else EQA_DATA; None where neither says."""
    chosen = folder or os.environ.get(DATA_VARIABLE)
    return Path(chosen) if chosen else None
