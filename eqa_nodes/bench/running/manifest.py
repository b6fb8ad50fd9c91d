"""The manifest of a run: everything needed to compare two runs and to repeat one."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from eqa_nodes.bench.samples import dataset_hash
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.storage.codec import decode, dumps, loads, read_json, write_json
from eqa_nodes.core.types.samples import ACTIVE, EM, Sample
from eqa_nodes.core.version import __version__

MANIFEST = "manifest.json"
MIXED = "mixed"  # key in the config of a run with answers of several others (bench/mixing.py)
_SAME = ("task", "dataset", "dataset_sha256", "seed", "model", "config")  # fields that a resumed run may not change
_NAMED = 4  # differing settings that a refusal lists


@dataclass
class RunManifest:
    """The manifest of a run. commit: "" = not run from a git checkout; times: UTC in ISO 8601, "" = not yet.

    config: the settings that decide the answers, as plain JSON; run: the whole RunConfig (config/run.py), {} if none.
    sessions: number of starts of the run (2 = resumed once); earlier_commits: commits of the earlier starts.
    asked: name of the model, "" = none. whole: number of questions of the data set, 0 = unlimited.
    """

    dataset: str
    dataset_sha256: str
    questions: int
    seed: int
    model: str
    config: Mapping[str, object]
    version: str = ""
    commit: str = ""
    dirty: bool = False
    python: str = ""
    numpy: str = ""
    platform: str = ""
    command: Sequence[str] = field(default_factory=list)
    started: str = ""
    finished: str = ""
    sessions: int = 1
    earlier_commits: Sequence[str] = field(default_factory=list)
    judge: str = ""
    judge_sha256: str = ""
    task: str = ACTIVE
    run: Mapping[str, object] = field(default_factory=dict)
    asked: str = ""
    whole: int = 0

    @property
    def share(self) -> str:
        """Return how many questions of the data set the run asks: "20 of 184 questions"."""
        return (f"{self.questions} of {self.whole} questions" if self.whole > self.questions else
                f"{self.questions} question{'s' if self.questions != 1 else ''}")


def begin_manifest(out: Path, dataset: str, samples: Sequence[Sample], *, seed: int = 0, model: str = "",
                   config: Mapping[str, object] | None = None, task: str = ACTIVE,
                   run: Mapping[str, object] | None = None, asked: str = "", whole: int = 0) -> RunManifest:
    """Write the manifest of a run that starts or continues.

    Raises ConfigError if `out` contains a different run; the message names the differences.
    """
    now = _now(RunManifest(dataset, dataset_hash(samples), len(samples), seed, model, dict(config or {}), task=task,
                           run=dict(run or {}), asked=asked, whole=whole))
    if (out / MANIFEST).exists():
        before = read_manifest(out)
        stated = loads(dumps(now))
        changed = [name for name in _SAME if getattr(before, name) != stated[name]]
        changed += ["asked"] if before.asked and before.asked != asked else []
        if changed:
            differing = differing_settings(before, now)
            named = "; ".join([*(f"{name} was {old}, is {new}" for name, old, new in differing[:_NAMED]),
                               *([f"{len(differing) - _NAMED} more"] if len(differing) > _NAMED else [])])
            raise ConfigError(f"{out} contains a run with another {', '.join(changed)}{named and f' ({named})'}: "
                              "resume it as it was, or choose a new directory")
        now.started, now.sessions = before.started, before.sessions + 1
        now.earlier_commits = [*before.earlier_commits, *([before.commit] if before.commit != now.commit else [])]
    write_json(out / MANIFEST, now)
    return now


def differing_settings(*runs: RunManifest) -> list[tuple[str, ...]]:
    """Return the settings that differ between runs: the name, and the value in each run."""
    all_of = [settings_of(run) for run in runs]
    names = sorted({name for one in all_of for name in one})
    return [(name, *(one.get(name, "default") for one in all_of)) for name in names
            if len({one.get(name) for one in all_of}) > 1]


def settings_of(run: RunManifest) -> dict[str, str]:
    """Return the settings that decide the answers of a run by full name ("explorer.policy"), and its model."""
    return {**_flat(run.config), "model": run.asked or run.model}


def agent_of(run: RunManifest) -> str:
    """Return the name of the agent, else that of the answerer."""
    return str(run.run.get("agent") or run.model)


def answered_by(run: RunManifest) -> str:
    """Return the answerer or agent and its model, for captions."""
    return f"answerer {agent_of(run) or 'unknown'}" + (f", model {run.asked}" if run.asked else "")


def policy_of(run: RunManifest) -> str:
    """Return the exploration policy of a run, "" if nothing drives."""
    return "" if run.task == EM else settings_of(run).get("explorer.policy") or str(run.run.get("policy") or "")


def detector_of(run: RunManifest) -> str:
    """Return the detector that found the objects in the images, "" if none did."""
    return settings_of(run).get("perception.detector.name", "")


def commit_of(run: RunManifest) -> str:
    """Return the short commit, marked if the checkout had changes."""
    return (run.commit[:10] or "unknown") + (" with changes" if run.dirty else "")


def _flat(config: Mapping[str, object]) -> dict[str, str]:
    """Return the settings by full name ("explorer.policy"); settings of all nodes have no prefix."""
    flat = dict[str, str]()
    for name, value in config.items():
        if isinstance(value, Mapping):
            flat |= {inner if name in ("nodes", "/**") else f"{name}.{inner}": own
                     for inner, own in _flat(value).items()}
        else:
            flat[name] = str(value)
    return flat


def state_manifest(out: Path, dataset: str, samples: Sequence[Sample], model: str = "", detector: str = "") -> None:
    """Write the manifest of a run that grows question by question, with its current questions.

    detector: what found the objects of the newest question, "" = nothing; the manifest lists all of them.
    """
    before = read_manifest(out) if (out / MANIFEST).exists() else None
    found_by = dict.fromkeys(filter(None, (*(detector_of(before).split(", ") if before else ()), detector)))
    config = {"perception": {"detector.name": ", ".join(found_by)}} if found_by else {}
    now = _now(RunManifest(dataset, dataset_hash(samples), len(samples), 0, model, config, asked=model))
    write_json(out / MANIFEST, replace(now, started=before.started if before else now.started, finished=now.started))


def _now(manifest: RunManifest) -> RunManifest:
    """Return a manifest with the environment of this process and the time of its start."""
    commit, dirty = git_state()
    return replace(manifest, version=__version__, commit=commit, dirty=dirty,
                   python=platform.python_version(), numpy=np.__version__, platform=platform.platform(),
                   command=list(sys.argv), started=utc_now())


def finish_manifest(out: Path, **changes: str) -> RunManifest:
    """Write the end of pass 1 (finished) or of pass 2 (judge, judge_sha256) into the manifest."""
    manifest = read_manifest(out)
    for name, value in changes.items():
        setattr(manifest, name, value)
    write_json(out / MANIFEST, manifest)
    return manifest


def read_manifest(out: Path) -> RunManifest:
    """Read the manifest of a run. Raises StorageError."""
    return decode(RunManifest, read_json(out / MANIFEST))


def utc_now() -> str:
    """Return the time as ISO 8601, UTC, whole seconds."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def git_state() -> tuple[str, bool]:
    """Return the commit of the package's checkout and whether it has changes; ("", False) without a checkout."""
    folder = Path(__file__).resolve().parents[3]
    commit = _git(folder, "rev-parse", "HEAD")
    return commit, bool(commit and _git(folder, "status", "--porcelain", "--untracked-files=no"))


def _git(folder: Path, *words: str) -> str:
    if not (folder / ".git").exists():
        return ""
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""  # provenance is best effort: a machine without git still runs benchmarks
    return done.stdout.strip() if done.returncode == 0 else ""
