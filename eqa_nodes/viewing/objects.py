"""The objects of a memory file as boxes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np

from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.changes import name_of
from eqa_nodes.viewing.frames import Steps
from eqa_nodes.viewing.layout import OBJECTS
from eqa_nodes.viewing.library import rerun
from eqa_nodes.viewing.rrd_file import RrdFile


def write_objects(file: RrdFile, memory: Path, steps: Steps) -> int:
    """Write a box for each object from when it was first seen until it was found gone; return how many.

    Boxes are those that memory has in the end. Objects of maps whose place in this one is unknown are left out.
    Raises StorageError for a file that cannot be read.
    """
    rr = rerun()
    with closing(MemoryStore(memory, write=False)) as store:
        found = [o for o in store.objects() if o.here]
    for o in found:
        path, begin_ns = f"{OBJECTS}/{o.id}", max(o.first_ns, steps.first_ns)
        low, high = np.array(o.low), np.array(o.high)
        file.at(begin_ns, steps.of(begin_ns))
        file.log(path, rr.Boxes3D(centers=[(low + high) / 2], half_sizes=[(high - low) / 2], labels=[name_of(o)],
                                  show_labels=False, colors=[(124, 58, 237)]))
        if o.gone_ns > begin_ns:
            file.at(o.gone_ns, steps.of(o.gone_ns))
            file.log(path, rr.Clear(recursive=False))
    file.flush()
    return len(found)
