"""The options of data set readers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from eqa_nodes.core.errors import ConfigError

DATA_VARIABLE = "EQA_DATA"


class ReaderOptions(NamedTuple):
    """folder: from the command line, None = from the environment. split: "" = the reader's default.

    limit: number of questions wanted, 0 = all; a reader of files may ignore it, because the caller truncates. seed:
    random seed for drawing and generating. task: ACTIVE, EM or TASKS of bench/samples.py.
    """

    name: str = ""
    folder: str | Path | None = None
    split: str = ""
    limit: int = 0
    seed: int = 0
    task: str = "active"

    def files(self) -> Path:
        """Return the folder of the data set's files. Raises ConfigError if none is configured."""
        chosen = data_folder(self.folder)
        if chosen is None:
            raise ConfigError(f"the data set {self.name!r} is read from files: name their folder, or set "
                              f"{DATA_VARIABLE}")
        return chosen


def data_folder(folder: str | Path | None) -> Path | None:
    """Return the folder of published data sets: the given one, else EQA_DATA; None if neither is set."""
    chosen = folder or os.environ.get(DATA_VARIABLE)
    return Path(chosen) if chosen else None
