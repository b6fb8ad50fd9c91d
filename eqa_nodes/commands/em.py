"""From command-line options to episode histories: options of bags, which views, where a question's history is."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from eqa_nodes.bags.history import BagOptions
from eqa_nodes.bench.samples import Sample, history_of
from eqa_nodes.commands.bag import remapping
from eqa_nodes.commands.chain import image_size, parameters_of
from eqa_nodes.core.codec import encode
from eqa_nodes.core.errors import ConfigError, EqaError, StorageError
from eqa_nodes.from_history import HistoryRunner, Source, file_source, tour_source
from eqa_nodes.history_views import Selection, check_labels
from eqa_nodes.perception import open_perceiver
from eqa_nodes.perception.history import DetectedHistory
from eqa_nodes.settings import PerceptionSettings, detecting, settings


def bag_options(arguments: argparse.Namespace) -> BagOptions | None:
    """Return how a bag is to be read, None where nobody said. Raises ConfigError."""
    options = BagOptions(remapping(arguments.remap), arguments.map_frame, arguments.base_frame, arguments.tolerance)
    return None if options == BagOptions() else options


def cache_folder(arguments: argparse.Namespace) -> Path:
    """Return where what was made of histories is kept: as given, else EQA_CACHE, else the user's cache."""
    chosen = arguments.cache or os.environ.get("EQA_CACHE")
    return Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eqa"


def selection_of(arguments: argparse.Namespace) -> Selection:
    """Return which views an answerer gets."""
    memory = settings("memory", parameters_of(arguments, Path()))
    return Selection(arguments.frames, arguments.k, memory.labels, memory.memory)


def open_history_runner(arguments: argparse.Namespace, source_of: Callable[[Sample], Source],
                        listener: Callable[[str], None]) -> HistoryRunner:
    """Return what answers from histories, with the answerer and the memory that the options name."""
    parameters = parameters_of(arguments, Path())
    answerer = settings("answerer", parameters)
    if detecting(parameters):
        source_of = _detected(source_of, settings("perception", parameters))
    return HistoryRunner(source_of, answerer, selection_of(arguments), cache_folder(arguments), arguments.force_guess,
                         listener)


def _detected(source_of: Callable[[Sample], Source], own: PerceptionSettings) -> Callable[[Sample], Source]:
    """Return the same histories as a detector sees them; its models are loaded when the first one is read."""
    perceiver = cache(lambda: open_perceiver(own.detector, own.perceiver))

    def seen(sample: Sample) -> Source:
        source = source_of(sample)
        identity = {**source.identity, "perception": encode((own.detector, own.perceiver))}
        return Source(source.name, identity, lambda: DetectedHistory(source.open(), perceiver()))

    return seen


def benchmark_sources(arguments: argparse.Namespace) -> Callable[[Sample], Source]:
    """Return the history of a benchmark's question: in the folder --histories, or the tour of a built-in house.

    It raises StorageError naming the history that is missing, ConfigError for one that lacks the labels that the
    answerer reads; what it opened once it keeps.
    """
    (width, height), selection = image_size(arguments.image), selection_of(arguments)
    detected = detecting(parameters_of(arguments, Path()))

    def opened(path: Path) -> Source:
        source = file_source(path)
        if not detected:
            check_labels(source.open(), selection)
        return source

    @cache
    def named(name: str, scene: str, simulator: str) -> Source | EqaError:
        if arguments.histories is not None and (arguments.histories / name).exists():
            return _tried(lambda: opened(arguments.histories / name))
        if simulator == "house":
            from sim_bridge.tours import house_tour

            def rendered() -> Source:
                tour = house_tour(scene)
                camera = replace(tour.robot.camera, width=width, height=height)
                return tour_source(replace(tour, robot=replace(tour.robot, camera=camera)))

            return _tried(rendered)
        return StorageError(f"the history {name} is not in {arguments.histories or 'any folder that was named'}: put "
                            "its frames there (docs/histories.md says in which form), or name another --histories")

    def source_of(sample: Sample) -> Source:
        found = named(history_of(sample), sample.scene, sample.simulator)
        if isinstance(found, EqaError):
            raise found
        return found

    return source_of


def check_histories(samples: list[Sample], source_of: Callable[[Sample], Source]) -> str:
    """Return a line about questions whose history is missing, "" where there is none.

    Raises ConfigError when it is missing for all of them.
    """
    missing = [(sample, error) for sample in samples if (error := _refused(sample, source_of)) is not None]
    if not missing:
        return ""
    histories = len({history_of(sample) for sample, _ in missing})
    line = f"{len(missing)} of {len(samples)} questions fail for want of {histories} histories; the first: " \
           f"{missing[0][1]}"
    if len(missing) == len(samples):
        raise ConfigError(line)
    return line


def _refused(sample: Sample, source_of: Callable[[Sample], Source]) -> EqaError | None:
    found = _tried(lambda: source_of(sample))
    return found if isinstance(found, EqaError) else None


def _tried(make: Callable[[], Source]) -> Source | EqaError:
    """Return what is made, or the error that prevents it, which is kept as well."""
    try:
        return make()
    except EqaError as error:
        return error
