"""Parsers of judging: who marks in `eqa bench score`; `eqa bench agree`, `robustness` and `mark-page`."""

from __future__ import annotations

import argparse
from pathlib import Path

from eqa_nodes.cli.model import model_options
from eqa_nodes.cli.paths import NewFile


def judge_options(p: argparse.ArgumentParser) -> None:
    """Add the options of a judge, less its name."""
    judge = p.add_argument_group("the judge")
    judge.add_argument("--judge-prompt", type=Path, metavar="FILE",
                       help="a prompt in place of the built-in one, with {question}, {answer}, {prediction} and, where "
                            "it shows them, {extra_answers}")
    judge.add_argument("--judge-prompt-extra", type=Path, metavar="FILE",
                       help="with --judge-prompt: another one for questions with further accepted answers")
    judge.add_argument("--no-extra-answers", dest="extra_answers", action="store_false",
                       help="show the model no further accepted answers")
    judge.add_argument("--until-last-full-stop", action="store_true",
                       help="drop what follows the last full stop of an answer, as OpenEQA's scorer does")
    judge.add_argument("--judge-threads", type=int, default=8, metavar="N", help="calls at once (default: 8)")
    model_options(p, "judge")


def score(p: argparse.ArgumentParser) -> None:
    """Options of `eqa bench score` that say who marks."""
    p.add_argument("--judge", default="offline",
                   help="offline: rules over words; choices: the right option; llm-match, eac: a model, see below; its "
                        "key comes from EQA_VLM_API_KEY (default: offline)")
    p.add_argument("--retry-unscored", action="store_true", help="ask again where the model said nothing of use")
    judge_options(p)


def agree(p: argparse.ArgumentParser) -> None:
    """`eqa bench agree`."""
    p.description = ("Compares judges with each other and with people: Spearman's rho with its 95 % bootstrap interval "
                     "over questions, the share of equal marks, and who gave what.")
    p.add_argument("out", nargs="?", type=Path, metavar="RUN",
                   help="run directory; without it --marks holds pairs: question, reference, answer, mark")
    p.add_argument("--judges", type=_names, default=[], metavar="A,B",
                   help="offline, choices, the begin of the name or version of one whose marks the run has kept, or a "
                        "scores file")
    p.add_argument("--marks", type=Path, nargs="+", default=[], metavar="CSV", help="marks of people, one file each")
    p.add_argument("--seed", type=int, default=0, help="of the bootstrap (default: 0)")
    judge_options(p)
    p.set_defaults(run="eqa_nodes.cli.judge:agree")


def robustness(p: argparse.ArgumentParser) -> None:
    """`eqa bench robustness`."""
    p.description = ("Marks a run's answers under other settings of the judge, one changed at a time, and sets each "
                     "beside the base: mean mark, Spearman's rho. The same line again goes on after a kill.")
    p.add_argument("out", type=Path, metavar="RUN", help="run directory")
    p.add_argument("--judge", default="llm-match", help="llm-match or eac (default: llm-match)")
    p.add_argument("--vary", type=_names, default=["role", "criterion", "temperature"], metavar="AXIS,..",
                   help="role, criterion, temperature, model (default: role,criterion,temperature)")
    p.add_argument("--models", type=_names, default=[], metavar="M,..", help="of the axis model")
    p.add_argument("--questions", type=int, default=0, metavar="N", help="the first N, 0 = all (default: 0)")
    p.add_argument("--seed", type=int, default=0, help="of the bootstrap (default: 0)")
    judge_options(p)
    p.set_defaults(run="eqa_nodes.cli.judge:robustness")


def mark_page(p: argparse.ArgumentParser) -> None:
    """`eqa bench mark-page`."""
    p.description = ("Writes one page for people who mark a run's answers, on a computer or a phone, offline; "
                     "it gives a CSV that `eqa bench agree RUN --marks` reads.")
    p.add_argument("out", type=Path, metavar="RUN", help="run directory")
    p.add_argument("--blind", action="store_true", help="hide which agent and which run it was, and its confidence")
    p.add_argument("--questions", type=int, default=0, metavar="N", help="N drawn at random, 0 = all (default: 0)")
    p.add_argument("--seed", type=int, default=0, help="of the order and the draw (default: 0)")
    p.add_argument("--page", type=NewFile, metavar="FILE", help="where to (default: mark.html in the run directory)")
    p.set_defaults(run="eqa_nodes.cli.judge:mark_page")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
