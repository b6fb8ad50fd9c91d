"""Words in the built-in houses: that they are there when asked for, and change nothing when not."""

from __future__ import annotations

import hashlib
import json

import pytest

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.core.errors import ConfigError, UnknownScene
from eqa_nodes.core.language.understanding import query_of
from sim_bridge.house import lettering
from sim_bridge.house.generate import generate_house
from sim_bridge.house.lettering import letter_m, lettered
from sim_bridge.house.scene import House
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.house.textures import texture_row
from sim_bridge.house.world import label_of, seed_of, with_text, world_of

SEED = 1459
# Of the houses 0, 7 and SEED, computed before there was text.
DIGESTS = ["f71075ea347ff9c9", "51e1e350cc4edb71", "e064b9416aebc1e4"]


def digest(house: House) -> str:
    """Return a hash of all objects and their parts, rounded to tenths of a millimetre."""
    facts = [(t.id, t.kind, t.room, t.yaw, *t.position, *t.size, t.colour, t.material, t.state, t.support, t.relation,
              [(p.shape, *p.centre, *p.size, p.colour, p.texture, p.glow) for p in t.parts]) for t in house.objects]
    return hashlib.sha256(json.dumps(_rounded(facts)).encode()).hexdigest()[:16]


def _rounded(value: object) -> object:
    if isinstance(value, int | float):
        return round(float(value), 4) + 0.0
    return [_rounded(part) for part in value] if isinstance(value, list | tuple) else value


def test_without_text_houses_are_what_they_were_before_there_was_text() -> None:
    assert [digest(generate_house(seed)) for seed in (0, 7, SEED)] == DIGESTS
    plain = generate_house(SEED)
    lettered(plain)
    assert digest(plain) == DIGESTS[2] and not any(obj.text for obj in plain.objects)
    assert not any("text" in label_of(plain, obj).attributes for obj in plain.objects)


def test_the_same_house_always_gets_the_same_words_on_the_same_things() -> None:
    plain, one, other = generate_house(SEED), lettered(generate_house(SEED)), lettered(generate_house(SEED))
    assert digest(one) == digest(other) and [t.text for t in one.objects] == [t.text for t in other.objects]
    assert [t.id for t in one.objects] == [t.id for t in plain.objects]
    bearing = [t for t in one.objects if t.text]
    assert {t.kind for t in bearing} >= {"sign", "wall clock"} and all(letter_m(t) >= 0.03 for t in bearing)
    assert all(label_of(one, t).attributes["text"] == t.text for t in bearing)


def test_scenes_with_text_have_names_of_their_own() -> None:
    assert world_of(f"house:{SEED}+text") is with_text(SEED) is not world_of(f"house:{SEED}")
    assert seed_of("house:7+2+text") == 7
    HouseSimulator.check_scene("house:7+2+text")
    for wrong in ("house:7+text+2", "house:7@2+text", "house:7+texts"):
        with pytest.raises(UnknownScene, match=r"\+text"):
            HouseSimulator.check_scene(wrong)


def test_words_have_textures_of_their_own_after_all_others() -> None:
    rows = {texture_row(lettering.PREFIX + words, 1) for words in lettering.WRITTEN}
    assert len(rows) == len(lettering.WRITTEN) and min(rows) > texture_row("lampshade", 1)
    with pytest.raises(ConfigError, match="unknown text 'JAZZ NITE'.*JAZZ NIGHT"):
        texture_row("text:JAZZ NITE", 1)
    picture = lettering.drawn("TEA", 64)
    assert picture.shape == (64, 64, 3) and picture.min() < 0.2 and picture[0].min() > 0.9


def test_the_data_set_asks_what_the_rules_understand() -> None:
    samples = open_dataset("house-text", limit=3)
    assert len(samples) == 3 and {sample.category for sample in samples} == {"text"}
    assert all(sample.scene.endswith("+text") and query_of(sample.question).form == "text" for sample in samples)
    assert all(float(str(sample.metadata["letter_px"])) >= 9 for sample in samples)
