"""The part of the command line that is about models on this machine."""

from __future__ import annotations

import argparse


def serve(p: argparse.ArgumentParser) -> None:
    """Add the options of `eqa serve`."""
    p.description = ("Starts an OpenAI-compatible endpoint over an image-text-to-text model of transformers, prints "
                     "the variables that point the answerer vlm to it, and runs until Ctrl-C.")
    p.add_argument("model", help="folder, or name on the hub, such as HuggingFaceTB/SmolVLM-Instruct")
    p.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    p.add_argument("--port", type=int, default=8000, help="0 = a free one (default: %(default)s)")
    p.add_argument("--device", default="", help="cuda, mps, cpu (default: what there is)")
    p.add_argument("--dtype", default="", help="float32, float16, bfloat16 (default: that of the weights)")
    p.add_argument("--deadline", type=float, default=1800.0, metavar="SECONDS",
                   help="for the model to be fetched and loaded (default: %(default)s)")
    p.set_defaults(run="eqa_nodes.cli.serve:serve")
