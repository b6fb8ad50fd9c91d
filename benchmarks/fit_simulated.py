"""Fits the simulated model to recorded replies: on every other question, with the agreement on the rest.

    EQA_REQUESTS=requests eqa ask "..." --scene house:7 --answerer vlm \
        --backend eqa_nodes.models.simulated.backend:RecordingChat
    python -m benchmarks.fit_simulated requests --tries 400 --out limits.json
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from eqa_nodes.core.storage.codec import write_json
from eqa_nodes.models.simulated.backend import read_requests
from eqa_nodes.models.simulated.fitting import agreement, fit, halves
from eqa_nodes.models.simulated.sight import SightLimits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="recorded requests with replies")
    parser.add_argument("--tries", type=int, default=400, help="variations of the limits (default: 400)")
    parser.add_argument("--seed", type=int, default=0, help="of the variations (default: 0)")
    parser.add_argument("--out", type=Path, help="JSON file for the fitted limits")
    asked = parser.parse_args()
    recorded = read_requests(asked.folder)
    fitted_on, held_out = halves(recorded)
    found = fit(fitted_on, asked.tries, asked.seed)
    print(f"{'':20}{'requests':>10}{'defaults':>10}{'fitted':>10}")
    for name, part in (("fitted on", fitted_on), ("held out", held_out)):
        if part:
            before, after = agreement(part, SightLimits()), agreement(part, found)
            for form in before:
                print(f"{name:10}{form or 'all':10}{len(part):10}{before[form]:10.3f}{after[form]:10.3f}")
    if asked.out:
        write_json(asked.out, asdict(found))


if __name__ == "__main__":
    main()
