"""Loading the embedder leaves the rest of the process as it was."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("wordllama", reason="wordllama is not installed: pip install 'eqa-nodes[embed]'")

PROGRAM = """
import logging
import sys
from eqa_nodes.core.memory.embedding import make_embedder
make_embedder("wordllama").embed(["a sofa"])
logging.getLogger("httpx2").info("HTTP Request: POST ...")
print(logging.getLogger().level, logging.getLogger().handlers, {"wordllama", "requests"} & sys.modules.keys())
"""


def test_other_libraries_are_not_made_to_talk() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=100.0, check=True)
    assert (done.stdout, done.stderr) == ("30 [] set()\n", "")


SAME = """
from pathlib import Path
import numpy as np
import wordllama
from eqa_nodes.core.memory.embedding import make_embedder
texts = ["a sofa", "the red cup on the table, next to a lamp", "x"]
model = wordllama.WordLlama.load(dim=256, cache_dir=Path(wordllama.__file__).parent, disable_download=True)
theirs = model.embed(texts).astype(np.float64)
theirs /= np.sqrt((theirs * theirs).sum(axis=1, keepdims=True))
print(np.array_equal(make_embedder("wordllama").embed(texts), theirs.astype(np.float32)))
"""


def test_vectors_are_those_of_the_package() -> None:
    done = subprocess.run([sys.executable, "-c", SAME], capture_output=True, text=True, timeout=100.0, check=True)
    assert done.stdout == "True\n"
