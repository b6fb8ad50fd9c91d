"""The verbs of `eqa` as data, and their parser. A verb's module is imported when the verb is used."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

from eqa_nodes.cli.options import Command, Parser, add_options, list_all, typed, usage_of
from eqa_nodes.core.errors import unknown
from eqa_nodes.core.version import __version__


class Verb(NamedTuple):
    """command: "module:Class" below eqa_nodes.cli, whose docstring describes the verb; "" for a group of `verbs`.

    epilog: last paragraph of its help.
    """

    name: str
    help: str
    command: str = ""
    verbs: tuple[Verb, ...] = ()
    epilog: str = ""


VERBS = (
    Verb("demo", "answer questions in the built-in house and write a report", "report:Demo"),
    Verb("ask", "ask one question", "ask:Ask"),
    Verb("listen", "ask questions by voice", "listen:Listen"),
    Verb("console", "serve a web page to ask questions, watch the robot, and replay episodes", "console:ServeConsole"),
    Verb("mcp", "serve the robot as tools of an assistant (Model Context Protocol)", "mcp:ServeAssistant"),
    Verb("bench", "run or score a benchmark, or compare two runs", verbs=(
        Verb("run", "ask every question of a data set once; can be resumed", "bench.run:Run"),
        Verb("score", "mark the answers of a run and print the table", "bench.score:Score"),
        Verb("human", "let a person answer the questions of a data set", "bench.human:Human"),
        Verb("perception", "measure a detector against the simulator's labels", "bench.perception:Perception"),
        Verb("compare", "compare two scored runs, with significance tests",
             "bench.results:Compare"),
        Verb("leaderboard", "write a page with one row for each scored run", "bench.results:Leaderboard"),
        Verb("table", "print scored runs as rows of the tables of OpenEQA, EXPRESS-Bench and ExploraQA",
             "bench.results:PaperTables"),
        Verb("export", "write a scored run for the scorers of other projects", "bench.results:Export"),
        Verb("mix", "draw answers of several runs into one, for a study of judges", "bench.studies:Mix"),
        Verb("agree", "measure how far judges and people agree", "bench.studies:Agree"),
        Verb("robustness", "measure how much a judge depends on its settings", "bench.studies:Robustness"),
        Verb("mark-page", "write a page for people who mark answers", "bench.studies:MarkPage"),
        Verb("tasks", "carry out EmbodiedEval tasks", "bench.tasks:Tasks"),
        Verb("explore", "compare exploration policies on the same questions", "bench.explore:Explore"),
        Verb("calibrate", "fit or check the calibration of answer confidence", "bench.calibrate:Calibrate"))),
    Verb("report", "write the report of a run", "report:WriteReport"),
    Verb("generate", "generate questions with answers by the methods of EXPRESS-Bench and ExploraQA", verbs=(
        Verb("express", "questions asked at the end of a path, as in EXPRESS-Bench", "generate:Express"),
        Verb("exploraqa", "instructions with questions and several viewpoints, as in ExploraQA",
             "generate:Exploraqa"),
        Verb("finish", "write the questions that people accepted", "generate:Finish"),
        Verb("write", "let a person write questions about episode histories, as in OpenEQA",
             "bench.human:WriteQuestions"),
        Verb("stats", "print questions by split, category, words and length of the path",
             "generate:GenerationStatistics"))),
    Verb("history", "inspect, export or record an episode history", verbs=(
        Verb("info", "print frames, size, rate, path length and extent", "history:HistoryInfo"),
        Verb("export", "convert it to another format", "history:ExportHistory"),
        Verb("video", "write it as a video with an inset of the path so far", "history:Video"),
        Verb("record", "make one in a simulator", "history:RecordTour"),
        Verb("render", "render published agent states (OpenEQA's of HM3D) in a simulator", "history:RenderStates"))),
    Verb("scan", "make a coloured 3D mesh of an episode history", "scan:Scan"),
    Verb("clip", "write an episode as a short film to share", "report:Clip"),
    Verb("memory", "inspect a memory file, query it, delete from it, or back it up", verbs=(
        Verb("info", "print how much is remembered, and the sessions", "memory:MemoryInfo"),
        Verb("objects", "print the remembered objects", "memory:MemoryObjects"),
        Verb("recall", "print the views that fit a text, and why", "memory:Recall"),
        Verb("ask", 'ask memory without a model: "When did you last see ...?", "What changed since ...?"',
             "memory:AskMemory"),
        Verb("digest", "print what happened on a day: what was moved, came, went or changed", "memory:Digest"),
        Verb("watch", 'watch for a statement to become true: "the stove is on for 30 min"', "memory:WatchMemory"),
        Verb("forget", "delete permanently; conditions combine", "memory:Forget"),
        Verb("align", "set the pose of one map in another", "memory:Align"),
        Verb("backup", "copy it as it is now, also while a robot writes it", "memory:BackupMemory"),
        Verb("restore", "put a backup back", "memory:RestoreMemory"))),
    Verb("learn", "train the networks that the stack ships with", verbs=(
        Verb("perceiver", "the small network that finds objects in images with depth", "learn:LearnPerceiver"),
        Verb("aqnav", "the planner that chooses where to look next", "learn:LearnAqNav"))),
    Verb("replay", "play an episode history to the graph as a live robot would, and ask", "replay:Replay"),
    Verb("doctor", "check this machine, a running robot, or a bag", "doctor:Doctor",
         epilog="exit codes: 0 ok or warnings, 1 an error (with --strict a warning too), 2 wrong use or a named error"),
    Verb("record", "record the topics of a running robot", "record:Record"),
    Verb("graph", "show nodes, topics, services and actions", "graph:Graph"),
)

DESCRIPTION = "Ask a robot about the place it is in."
EXAMPLES = """examples:
  eqa demo                                   five questions in the built-in house, with table and report
  eqa ask "Is the lamp in the bedroom on?"   one question in a house; --scene house:7 chooses which
  eqa console                                the same on a web page, with camera, map and reasons live
  eqa bench run --questions 50 --out runs/a  a scored run; the same command resumes it after a kill
  eqa bench score runs/a && eqa report runs/a
  eqa bench compare runs/a runs/b            what differs between two runs, and whether it may be chance
  eqa replay BAG --ask "Where is the mug?"   a recording through the whole graph
  eqa doctor                                 what works on this machine, and the remedy for what does not

eqa --help lists all verbs, eqa VERB --help their options.
exit codes: 0 done, 1 the program failed or a check did not pass, 2 wrong use or a named error, 130 interrupted
"""


def parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the parser of the command line. words: only the verbs in them get options; None: all verbs do, and their
    help lists the rare options too.
    """
    top = Parser(prog="eqa", description=DESCRIPTION, epilog=EXAMPLES,
                 formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--version", action="version", version=f"eqa {__version__}")
    _add_verbs(top, VERBS, words, "VERB")
    return top


def command_of(argv: Sequence[str]) -> Command:
    """Return the command of a command line. Raises SystemExit for wrong words, for no words, and for --help."""
    if not argv:
        print(f"{DESCRIPTION}\n\n{EXAMPLES}", end="")
        raise SystemExit(0)
    namespace = parser(argv).parse_args(argv)
    return typed(_loaded(namespace.command), namespace)


def complete() -> None:
    """Print the completions that the shell asks for and end the program; return if they are those of another program.
    """
    import argcomplete

    line = os.environ.get("COMP_LINE", "")[:int(os.environ.get("COMP_POINT", "0"))]
    finished = line.split()[1:] if line.endswith(" ") else line.split()[1:-1]  # without the word that is being typed
    argcomplete.autocomplete(parser(finished))


def _add_verbs(parent: argparse.ArgumentParser, verbs: Sequence[Verb], words: Sequence[str] | None,
               metavar: str) -> None:
    below = parent.add_subparsers(required=True, metavar=metavar, dest="verb")
    (named, left), names = _named(words), [verb.name for verb in verbs]
    if named and named not in names:
        parent.error(unknown("verb", named, names))
    for verb in verbs:
        own = below.add_parser(verb.name, help=verb.help, epilog=verb.epilog or None)
        if named not in (None, verb.name):
            continue
        if verb.verbs:
            _add_verbs(own, verb.verbs, left, "|".join(v.name for v in verb.verbs))
        else:
            own.description = " ".join((_loaded(verb.command).__doc__ or "").split())
            own.set_defaults(command=verb.command)
            add_options(own, _loaded(verb.command))
            own.usage = usage_of(own)
            if words is None:
                list_all(own)


def _named(words: Sequence[str] | None) -> tuple[str | None, Sequence[str] | None]:
    """Return the first word that is not an option, "" if there is none, and the words after it; None for all verbs."""
    if words is None:
        return None, None
    place = next((i for i, word in enumerate(words) if not word.startswith("-")), len(words))
    return ("", ()) if place == len(words) else (words[place], words[place + 1:])


def _loaded(command: str) -> type[Any]:
    module, _, name = command.partition(":")
    found: type[Any] = getattr(import_module(f"eqa_nodes.cli.{module}"), name)
    return found
