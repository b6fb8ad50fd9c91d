"""From command-line options to episode histories: options of bags, which views, where a question's history is."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from eqa_nodes.bench.running.runner import EpisodeRunner
from eqa_nodes.bench.samples import Sample, history_of
from eqa_nodes.cli.bag import remapping
from eqa_nodes.cli.chain import IMAGE, image_size, parameters_of
from eqa_nodes.cli.paths import check_folder
from eqa_nodes.config.graph import detecting, settings
from eqa_nodes.config.nodes import PerceptionSettings
from eqa_nodes.core.errors import EqaError, StorageError
from eqa_nodes.core.storage.codec import encode
from eqa_nodes.core.storage.names import inside
from eqa_nodes.perception import open_perceiver
from eqa_nodes.perception.history import DetectedHistory
from eqa_nodes.recordings.history import BagOptions
from eqa_nodes.recordings.history_views import ViewSelection, check_labels
from eqa_nodes.registry.agents import is_function
from eqa_nodes.registry.answerers import answerer_of
from eqa_nodes.runners.history import HistorySource, file_source, tour_source
from eqa_nodes.runners.navqa import NavqaRunner
from sim_bridge.registry import simulator_of


def bag_options(arguments: argparse.Namespace) -> BagOptions | None:
    """Return how a bag is to be read, None where nobody said. Raises ConfigError."""
    options = BagOptions(remapping(arguments.remap), arguments.map_frame, arguments.base_frame, arguments.tolerance)
    return None if options == BagOptions() else options


def cache_folder(arguments: argparse.Namespace) -> Path:
    """Return where what was made of histories is kept: as given, else EQA_CACHE, else the user's cache.

    Raises StorageError where nothing can be written there.
    """
    chosen = arguments.cache or os.environ.get("EQA_CACHE")
    folder = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eqa"
    check_folder(folder)
    return folder


def selection_of(arguments: argparse.Namespace) -> ViewSelection:
    """Return which views an answerer gets."""
    memory = settings("memory", parameters_of(arguments, Path()))
    return ViewSelection(arguments.frames, arguments.k, memory.labels, memory.memory)


def open_history_runner(arguments: argparse.Namespace, source_of: Callable[[Sample], HistorySource],
                        listener: Callable[[str], None]) -> EpisodeRunner:
    """Return what answers from histories: a function, or the answerer and the memory that the options name."""
    parameters = parameters_of(arguments, Path())
    answerer = settings("answerer", parameters)
    if detecting(parameters):
        source_of = _detected(source_of, settings("perception", parameters))
    if is_function(arguments.agent):
        from eqa_nodes.runners.function import EmFunctionRunner, load_function

        return EmFunctionRunner(load_function(arguments.agent), source_of, arguments.k, answerer_of(answerer),
                                arguments.force_guess, listener)
    return NavqaRunner(source_of, answerer, selection_of(arguments), cache_folder(arguments), arguments.force_guess,
                       listener)


def _detected(source_of: Callable[[Sample], HistorySource], own: PerceptionSettings) -> Callable[[Sample],
                                                                                                 HistorySource]:
    """Return the same histories as a detector sees them; its models are loaded when the first one is read."""
    perceiver = cache(lambda: open_perceiver(own.detector, own.perceiver))

    def seen(sample: Sample) -> HistorySource:
        source = source_of(sample)
        identity = {**source.identity, "perception": encode((own.detector, own.perceiver))}
        return HistorySource(source.name, identity, lambda: DetectedHistory(source.open(), perceiver()))

    return seen


def benchmark_sources(arguments: argparse.Namespace) -> Callable[[Sample], HistorySource]:
    """Return the history of a benchmark's question: in the folder --histories, or the tour of a built-in house.

    It raises StorageError naming the history that is missing, ConfigError for one that lacks the labels that the
    answerer reads; what it opened once it keeps.
    """
    return source_finder(arguments.histories, image_size(arguments.image or IMAGE), selection_of(arguments),
                         detecting(parameters_of(arguments, Path())))


def source_finder(histories: Path | None, image: tuple[int, int], selection: ViewSelection,
                  detected: bool = False) -> Callable[[Sample], HistorySource]:
    """Return the history of a question, as benchmark_sources. image: width and height of the house's own tours.

    detected: a detector labels what is seen, so that a history needs no labels of its own.
    """
    width, height = image

    def opened(path: Path) -> HistorySource:
        source = file_source(path)
        if not detected:
            check_labels(source.open(), selection)
        return source

    @cache
    def named(name: str, scene: str) -> HistorySource | EqaError:
        if histories is not None and inside(histories, name).exists():
            return _tried(lambda: opened(inside(histories, name)))
        if simulator_of(scene) == "house":
            from eqa_nodes.recordings.tours import house_tour

            def rendered() -> HistorySource:
                tour = house_tour(scene)
                camera = replace(tour.robot.camera, width=width, height=height)
                return tour_source(replace(tour, robot=replace(tour.robot, camera=camera)))

            return _tried(rendered)
        return StorageError(f"the history {name} is not in {histories or 'any folder that was named'}: put "
                            "its frames there (docs/histories.md says in which form), or name another --histories")

    def source_of(sample: Sample) -> HistorySource:
        found = named(history_of(sample), sample.scene)
        if isinstance(found, EqaError):
            raise found
        return found

    return source_of


def _tried(make: Callable[[], HistorySource]) -> HistorySource | EqaError:
    """Return what is made, or the error that prevents it, which is kept as well."""
    try:
        return make()
    except EqaError as error:
        return error
