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
