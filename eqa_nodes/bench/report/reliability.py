"""The reliability diagram as SVG, and the tables of a calibration as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from eqa_nodes.bench.metrics.calibrate import Bin, Realised, Reliability

_SIDE, _LEFT, _TOP, _COUNTS = 300, 52, 14, 60  # pixels: the square, its margins, the bars of counts below it
_STYLE = ("text{font:12px system-ui,sans-serif;fill:#334155}.axis{stroke:#94a3b8;fill:none}"
          ".ideal{stroke:#94a3b8;stroke-dasharray:4 4}.error{stroke:#0d9488;stroke-width:2}"
          ".dot{fill:#0d9488}.bar{fill:#cbd5e1}.title{font-weight:600}")


def caption(r: Reliability) -> str:
    """Return the key values of a diagram in one line."""
    return (f"expected calibration error {r.ece:.3f}, Brier score {r.brier:.3f} (of always saying the share that is "
            f"right: {r.base_brier:.3f}); {r.answers} weighed answers of {r.questions} episodes, each episode "
            "weighted equally")


def reliability_svg(r: Reliability, title: str) -> str:
    """Return the diagram: share of right answers over probability with 95 % intervals; below, episodes per bin."""
    bottom = _TOP + _SIDE
    width, height = _LEFT + _SIDE + 20, bottom + _COUNTS + 92
    most = max(b.questions for b in r.bins)
    short = f"ECE {r.ece:.3f}, Brier {r.brier:.3f}, {r.questions} episodes"
    parts = [f'<rect x="{_LEFT}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}" class="axis"/>',
             f'<line x1="{_LEFT}" y1="{bottom}" x2="{_LEFT + _SIDE}" y2="{_TOP}" class="ideal"/>',
             *(_tick(k / 5) for k in range(6)), *(_point(b) + _bar(b, most) for b in r.bins),
             f'<text x="{_LEFT + _SIDE / 2}" y="{bottom + 34}" text-anchor="middle">probability of being right</text>',
             f'<text transform="translate(14 {_TOP + _SIDE / 2}) rotate(-90)" text-anchor="middle">share right</text>',
             f'<text x="{_LEFT}" y="{height - 30}" class="title">{_escaped(title)}</text>',
             f'<text x="{_LEFT}" y="{height - 12}">{short}</text>']
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" aria-label="reliability diagram"><style>{_STYLE}</style>'
            f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n')


def _at(probability: float, share: float) -> tuple[float, float]:
    return _LEFT + probability * _SIDE, _TOP + (1 - share) * _SIDE


def _tick(value: float) -> str:
    x, y = _at(value, value)
    return (f'<text x="{x:.1f}" y="{_TOP + _SIDE + 16}" text-anchor="middle">{value:.1f}</text>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.1f}</text>')


def _point(b: Bin) -> str:
    (x, y), low, high = _at(b.probability, b.right), _at(0, b.right_low)[1], _at(0, b.right_high)[1]
    return (f'<line x1="{x:.1f}" y1="{low:.1f}" x2="{x:.1f}" y2="{high:.1f}" class="error"/>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="dot"/>')


def _bar(b: Bin, most: int) -> str:
    x, wide, tall = _at(b.low, 0)[0] + 1, (b.high - b.low) * _SIDE - 2, b.questions / most * (_COUNTS - 18)
    base = _TOP + _SIDE + 40 + _COUNTS
    return (f'<rect x="{x:.1f}" y="{base - tall:.1f}" width="{wide:.1f}" height="{tall:.1f}" class="bar"/>'
            f'<text x="{x + wide / 2:.1f}" y="{base - tall - 3:.1f}" text-anchor="middle">{b.questions}</text>')


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def reliability_table(r: Reliability) -> str:
    """Return the bins as Markdown, with the caption."""
    rows = [(f"{b.low:.1f}–{b.high:.1f}", str(b.answers), str(b.questions), f"{b.probability:.3f}",
             f"{b.right:.3f} [{b.right_low:.3f}, {b.right_high:.3f}]") for b in r.bins]
    return _table(("probability", "answers", "episodes", "mean", "share right [95 %]"), rows) + f"\n{caption(r)}\n"


def risk_table(rows: Sequence[Realised]) -> str:
    """Return accepted and realised risk as Markdown."""
    cells = [(f"{r.risk:g}" if r.risk else "none set", f"{r.threshold:g}",
              f"{100 * r.wrong:.1f} [{100 * r.wrong_low:.1f}, {100 * r.wrong_high:.1f}]", f"{100 * r.answered:.1f}",
              f"{100 * r.correctness:.1f}", f"{r.steps:.1f}", str(r.failed), str(r.questions)) for r in rows]
    return _table(("accepted risk", "threshold", "answered wrongly % [95 %]", "answered %", "C %", "steps", "failed",
                   "n"), cells)


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
