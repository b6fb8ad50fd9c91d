"""The command line with outputs that are closed, full or not UTF-8."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

EQA = (sys.executable, "-m", "eqa_nodes.cli")


def run(words: Sequence[str], **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command line in a process of its own."""
    environment = {**os.environ, **options.pop("env", {})}  # type: ignore[dict-item]
    return subprocess.run([*EQA, *words], env=environment, stderr=subprocess.PIPE, text=True, timeout=120,
                          **options)  # type: ignore[call-overload, no-any-return]


def test_a_reader_that_has_enough_ends_it_quietly() -> None:
    reader, writer = os.pipe()
    os.close(reader)  # as `| head` after its last line
    for words in (["graph"], ["graph", "--format", "parameters"]):
        done = run(words, stdout=writer)
        assert done.returncode in (1, 141) and not done.stderr
    os.close(writer)


def test_a_full_and_a_closed_output_are_no_traceback() -> None:
    with Path("/dev/full").open("w") as full:
        done = run(["graph"], stdout=full)
    assert done.returncode == 2 and done.stderr == "eqa: output: No space left on device\n"
    closed = subprocess.run(f"{' '.join(EQA)} graph >&-", shell=True, stderr=subprocess.PIPE, text=True, timeout=120)
    assert closed.returncode == 0 and not closed.stderr


@pytest.mark.parametrize("variables", [pytest.param({"LC_ALL": "C"}, marks=pytest.mark.thorough),
                                       pytest.param({"PYTHONIOENCODING": "ascii"}, marks=pytest.mark.thorough),
                                       {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
                         ids=lambda variables: " ".join(variables))
def test_a_terminal_without_utf8_is_served(variables: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "with blanks"
    done = run(["ask", "Where is the lamp?", "--scene", "toy:flat", "--through", "process", "--image", "64x48",
                "--max-steps", "2", "--out", str(out)], env=variables, stdout=subprocess.PIPE)
    assert done.returncode == 0 and "steps" in done.stdout and out.is_dir()
    assert done.stderr.startswith("starting the robot's programs\nentering toy:flat\nremembering, 0 steps")
    assert "Traceback" not in done.stderr
    assert run(["graph"], env=variables, stdout=subprocess.PIPE).returncode == 0


def test_little_is_loaded_before_an_interrupt_is_caught() -> None:
    """Else Ctrl-C within the first second shows where numpy was being imported."""
    script = "import sys, eqa_nodes.cli; print(sorted({'numpy', 'scipy', 'rich', 'yaml'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_a_question_that_is_told_to_end_says_so_and_has_the_usual_code(tmp_path: Path) -> None:
    with subprocess.Popen([*EQA, "ask", "Where is the unicorn?", "--scene", "house:3", "--through", "process", "--out",
                           str(tmp_path / "run")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True) as asked:
        assert asked.stderr is not None
        said = [next(line for line in asked.stderr if line.startswith("entering"))]
        asked.send_signal(signal.SIGTERM)
        said += asked.stderr.readlines()
        assert asked.wait(120) == 128 + signal.SIGTERM
    assert said[-1] == "eqa: ended by SIGTERM\n" and "Traceback" not in "".join(said)
