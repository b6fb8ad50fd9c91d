"""300 questions in 30 built-in houses, unchanged and paraphrased: the loss of correctness by other words.

Everything in a house is known (tests/fixtures/known_house.py), so that only understanding is measured, not exploration.
The changes are drawn with a fixed seed from the table below, two per question if two apply.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator

from benchmarks.timing import Figure
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.core.agent.stopping import make_stop
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.types.questions import Question
from eqa_nodes.core.types.samples import Sample
from sim_bridge.house.generate import generate_house
from sim_bridge.house.questions import QuestionCandidate, candidates
from tests.fixtures.known_house import known

HOUSES, EACH, RIGHT, WANTED = range(2000, 2030), 10, 4, 0.95
Change = Callable[[str, random.Random], str]


def _sub(pattern: str, by: str) -> Change:
    """Return a change that rewrites the whole question, and leaves questions without a match unchanged."""
    return lambda text, _: re.sub(f"^{pattern}$", by, text)


def _slip(text: str, draw: random.Random) -> str:
    """Swap two adjacent letters inside one of the long words."""
    long = list(re.finditer(r"[a-z]{6,}", text))
    if not long:
        return text
    word = draw.choice(long)
    i = draw.randrange(word.start() + 1, word.end() - 2)
    return text[:i] + text[i + 1] + text[i] + text[i + 2:]


def _other_words(text: str, _: random.Random) -> str:
    for word, other in (("sofa", "couch"), ("television", "TV"), ("refrigerator", "fridge"),
                        ("trash can", "rubbish bin"), ("wardrobe", "closet"), ("color", "colour"),
                        ("restroom", "bathroom"), ("rug", "carpet"),
                        ("living room", "lounge"), ("study", "home office"), ("hallway", "corridor"),
                        ("switched on", "on"), ("bookshelf", "bookcase")):
        text = re.sub(rf"\b{word}\b", other, text)
    return text


CHANGES: dict[str, Change] = {
    "greeting": lambda text, draw: draw.choice(("Hey robot, ", "Hello! ", "Excuse me, ", "Quick question: ")) +
    text[0].lower() + text[1:],
    "please": lambda text, draw: text.rstrip("?") + draw.choice((", please?", " please", ", thanks?")),
    "no punctuation": lambda text, _: text.lower().rstrip("?"),
    "capitals": lambda text, _: text.upper(),
    "slip of the keys": _slip,
    "other words": _other_words,
    "short form": _sub(r"(What|Where) is (.*)", r"\1's \2"),
    "whether": _sub(r"(Is|Are) (the .+?|there .+?) (on|off|open|closed|empty|full|made|unmade|running)( .*)?\?",
                    r"Could you check whether \2 \1 \3\4?"),
    "tell me": _sub(r"(What|Where|How|Which)(.*)\?", r"Can you tell me: \1\2?"),
    "wonder": _sub(r"Where (?:is|are) (the .+)\?", r"I can't find \1, any idea where to look?"),
    "count": _sub(r"How many (.+?) are there( in .+)?\?", r"Can you count the \1\2?"),
    "colour last": _sub(r"What color is (the .+)\?", r"The thing I want to know is the color of \1."),
}


def varied(text: str, draw: random.Random) -> tuple[str, tuple[str, ...]]:
    """Return a paraphrased question and the names of the changes."""
    names, done = draw.sample(sorted(CHANGES), len(CHANGES)), []
    for name in names:
        changed = CHANGES[name](text, draw)
        if changed != text:
            text, done = changed, [*done, name]
        if len(done) == 2:
            break
    return text, tuple(done)


def drawn() -> Iterator[tuple[int, QuestionCandidate, str, tuple[str, ...]]]:
    """Yield the house, the question, its paraphrase, and the names of the changes."""
    draw = random.Random(18)
    for seed in HOUSES:
        by_category = [asked for asked in candidates(generate_house(seed)).values() if asked]
        for n in range(EACH):
            candidate = draw.choice(by_category[n % len(by_category)])
            yield seed, candidate, *varied(candidate.question, draw)


def figures() -> list[Figure]:
    """Return how many questions are answered correctly, unchanged and paraphrased."""
    answerer, judge, stop = LabelAnswerer(), OfflineJudge(), make_stop(0.0, "", 0.0)
    right, lost, made = Counter[str](), Counter[str](), Counter[str]()
    for seed, candidate, text, changes in drawn():
        sample = Sample("q", candidate.question, candidate.answer, alternatives=candidate.alternatives)
        ok = {}
        for form, words in (("plain", candidate.question), ("varied", text)):
            answer = answerer.answer(Question(words), known(seed))
            mark = judge.judge(sample, answer.text).sigma if not answer.abstained else None
            ok[form] = mark is not None and mark >= RIGHT and stop.sure(answer, ()) > 0
            right[form] += ok[form]
        made.update(changes)
        if ok["plain"] and not ok["varied"]:
            lost.update(changes)
            print(f"  house:{seed}  {candidate.question}  ->  {text}  ({', '.join(changes)})", flush=True)
    share = right["varied"] / max(right["plain"], 1)
    worst = ", ".join(f"{name} {count} of {made[name]}" for name, count in lost.most_common(5))
    return [Figure(f"{len(HOUSES) * EACH} phrasings in {len(HOUSES)} houses", None, f"wanted: {WANTED}",
                   round(share, 3), f"{right['plain']} right as they are, {right['varied']} in other words; lost by "
                   f"change: {worst}")]
