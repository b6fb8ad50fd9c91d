"""Actions as data: the table is checked when it is read, and each action needs, changes and says what it states."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from eqa_nodes.core.errors import ConfigError, SimulatorError
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from sim_bridge.house.actions import ACTIONS, PATH, TABLE, read_actions
from sim_bridge.house.catalogue import KINDS
from sim_bridge.house.chores import with_chores
from sim_bridge.house.dice import Dice
from sim_bridge.house.handling import HandledHouse, HandlingRefused, Manipulator, made
from sim_bridge.house.people.bodies import LIE, SIT, STAND
from sim_bridge.house.people.residents import Resident, Residents
from sim_bridge.house.scene import House, HouseObject
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.house.world import chores_world, world
from sim_bridge.simulator import EpisodeSetup
from tests.fixtures.houses import two_rooms

ROBOT = RobotModel(camera=CameraModel(160, 120, color=False))
HOME = "house:11+2+chores"
WANTED_WORK = {"wash", "unlock", "water", "wipe", "mix", "photograph", "fill", "pay"}


def changed(tmp_path: Path, old: str, new: str) -> Path:
    text = PATH.read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "actions.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    return tmp_path / "actions.yaml"


def test_there_are_at_least_forty_and_their_objects_exist() -> None:
    assert len(ACTIONS) >= 40 and set(ACTIONS) >= WANTED_WORK
    made_here = {t.kind for seed in range(12) for t in chores_world(seed).house.objects}
    assert set(TABLE.tools) - made_here == set(), "a tool is in no house"


@pytest.mark.parametrize(("old", "new", "error"), [
    ("effect: {state: watered,", "effect: {state: 3,", "line 37, actions.water.effect.state: must be a text, not '3'"),
    ("{disappears: true}", "{disappears: often}", "actions.eat.effect.disappears: must be true or false, not 'often'"),
    ("moves: 0.3", "moves: far", "actions.roll.effect.moves: must be a number, not 'far'"),
    ("object: [kettle]", "object: [kettel]", "actions.boil.object: unknown kind of object 'kettel' .did you mean"),
    ("held: [whisk]", "hold: [whisk]", "actions.mix.hold: unknown field 'hold'"),
    ("hand: give", "hand: throw", "actions.hand_over.effect.hand: unknown word 'throw'"),
    ('text: "mix what is in {object}"', "text: mix", r"actions.mix.text: must contain \{object\}"),
    ("  unlock: {text", "  lock: {text", "actions: has 'lock' twice"),
    ("\ntools:", "\ntool:", "unknown section 'tool'"),
    ('dirty: {spots: "#4a2a12"}', "dirty: {gloss: red}", "marks.dirty: must be one of tint, spots, disc"),
    ("mixing bowl: unmixed", "mixing bowl: mixed", "line .*, actions.mix.state: can never be met"),
    ("flat: [ball, tire, exercise ball]", "flat: [footbal]", "conditions.flat: unknown kind of object 'footbal'"),
])
def test_a_broken_table_is_refused_with_line_and_field(tmp_path: Path, old: str, new: str, error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        read_actions(changed(tmp_path, old, new))


def test_requirements_in_a_circle_are_refused(tmp_path: Path) -> None:
    """The key to the cash box appears only when the cash box is open."""
    path = changed(tmp_path, 'key: "", ', "")
    text = path.read_text(encoding="utf-8").replace(
        "actions:\n", 'actions:\n  search: {text: "search {object}", object: [cash box], state: open, effect: '
                      '{appears: key}}\n', 1)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="actions.search.state: can never be met: the requirements form a circle"):
        read_actions(path)


def house_with(kind: str, state: str, *others: tuple[str, str]) -> tuple[House, HouseObject]:
    """Return a kitchen with an object on the floor beside the robot at (6, 1), others next to it."""
    house, placed = two_rooms(), []
    for number, (name, how) in enumerate(((kind, state), *others)):
        new = made(name, 50 + number, Dice(number), how)
        placed.append(replace(new, position=(6.4, 0.6 + 0.5 * number, 0.0), room=1))
    house.objects += placed
    return house, placed[0]


def do(house: House, action: str, obj: HouseObject, held: HouseObject | None) -> HandledHouse | HandlingRefused:
    return Manipulator(house, Pose2(6.0, 1.0, 0.0), ROBOT, held).handle(action, obj.id)


@pytest.mark.parametrize("action", [name for name, rule in ACTIONS.items() if rule.becomes and rule.object[0] in KINDS])
def test_each_action_changes_its_object_and_nothing_without_its_tool(action: str) -> None:
    rule = ACTIONS[action]
    beside = [(kind, rule.near_state[0] if rule.near_state else KINDS[kind].states[0]) for kind in rule.near[:1]]
    kind = rule.object[0]
    house, obj = house_with(kind, rule.state[0] if rule.state else "", *beside)
    held = None
    if rule.held == ("object",):
        house.objects, held = [t for t in house.objects if t is not obj], obj
    elif rule.held and rule.held[0] in KINDS:
        refused = do(house, action, obj, None)
        assert refused == HandlingRefused("the robot holds nothing")
        held = made(rule.held[0], 70, Dice(7), rule.held_state[0] if rule.held_state else "")
    done = do(house, action, obj, held)
    assert isinstance(done, HandledHouse), done
    after = {t.id: t for t in (*done.house.objects, *([done.held] if done.held is not None else []))}
    assert after[obj.id].state == rule.becomes and (after[obj.id].parts != obj.parts or not rule.state)
    assert done.reply == rule.reply.format(object=kind, held=held.kind if held is not None else "")
    assert (done.held is None) == (held is None or rule.hand == "lose")
    again = do(done.house, action, obj, done.held if rule.hand != "lose" else held)
    assert not rule.state or again == HandlingRefused(f"it is {rule.becomes} already")


def test_objects_appear_disappear_and_roll_away() -> None:
    house, printer = house_with("printer", "")
    printed = do(house, "print", printer, None)
    assert isinstance(printed, HandledHouse)
    assert [(t.kind, t.support) for t in printed.house.objects][-1] == ("printed page", printer.id)
    house, bread = house_with("bread", "toasted")
    eaten = do(house, "eat", bread, None)
    assert isinstance(eaten, HandledHouse) and bread.id not in [t.id for t in eaten.house.objects]
    house, ball = house_with("ball", "")
    rolled = do(house, "roll", ball, None)
    assert isinstance(rolled, HandledHouse)
    assert math.dist(rolled.house.object_by_id(ball.id).position, ball.position) == pytest.approx(0.3, abs=1e-3)


def test_chores_are_the_same_every_time_and_leave_the_house_alone() -> None:
    house = world(11).house
    a, b = with_chores(house), with_chores(house)
    assert a == b and house == world(11).house
    changed_states = {t.state for t in a.objects} - {t.state for t in house.objects}
    assert len(changed_states & set(TABLE.conditions)) >= 4
    assert len({t.id for t in a.objects}) == len(a.objects) > len(house.objects)


def home() -> tuple[HouseSimulator, list[Resident]]:
    simulator = HouseSimulator()
    simulator.reset(EpisodeSetup(HOME, robot=ROBOT))
    assert isinstance(simulator._people, Residents)
    return simulator, simulator._people.people


def beside(simulator: HouseSimulator, person: Resident) -> bool:
    """Place the robot in front of a person, looking at them."""
    place, people = chores_world(11), simulator._people
    assert people is not None
    for ring in (0.9, 1.1, 1.3, 1.5):
        for k in range(16):
            angle = person.pose.yaw + 2 * math.pi * k / 16
            x, y = person.pose.x + ring * math.cos(angle), person.pose.y + ring * math.sin(angle)
            if place.free(x, y) and not people.at(x, y, ROBOT.radius_m):
                frame = simulator.place_robot(Pose2(x, y, angle + math.pi)).frame
                if frame.labels is not None and bool((frame.labels == person.id).sum() > 20):
                    return True
    return False


def test_residents_are_the_same_every_time_and_have_names() -> None:
    (_, one), (_, two) = home(), home()
    assert [vars(p) | {"looks": None} for p in one] == [vars(p) | {"looks": None} for p in two]
    assert all(p.name and p.role and p.known and p.wanted and p.place for p in one)
    assert {p.posture for p in one} <= {LIE, SIT, STAND}


def test_people_answer_wake_point_follow_and_take_things() -> None:
    simulator, (sleeper, sitter) = home()
    assert sleeper.asleep and beside(simulator, sleeper)
    assert simulator.handle("ask", sleeper.id).message == f"{sleeper.name} is asleep"
    assert "Good morning" in simulator.handle("wake", sleeper.id).message and not sleeper.asleep
    assert simulator.handle("wake", sleeper.id).message == f"{sleeper.name} is awake"
    assert beside(simulator, sitter)
    known = next(t for t in chores_world(11).house.objects if t.id == sitter.known)
    told = simulator.handle("ask", sitter.id)
    assert told.done and f"The {known.kind} is {sitter.place}" in told.message
    assert simulator.handle("ask_to_point", sitter.id).done and sitter.points_at == sitter.known
    assert simulator.handle("hand_over", sitter.id).message == "the robot holds nothing"
    wanted = next(t for t in chores_world(11).house.objects if t.id == sitter.wanted)
    simulator._held = replace(wanted, relation="held", support=0)
    given = simulator.handle("hand_over", sitter.id)
    assert given.done and simulator.held() == 0 and simulator.support_of(wanted.id) == sitter.id
    assert simulator.labels()[wanted.id].attributes["support"] == sitter.name
    assert given.step.frame.labels is not None and (given.step.frame.labels == wanted.id).any()
    assert simulator.handle("pick", wanted.id).message == "it is no longer there"
    assert simulator.handle("pick", sitter.id).message == "it is a person"
    with pytest.raises(SimulatorError, match="no object 99999"):
        simulator.handle("greet", 99999)


def test_who_follows_is_behind_the_robot_and_never_in_its_way() -> None:
    simulator, (_, sitter) = home()
    assert beside(simulator, sitter) and simulator.handle("ask_to_follow", sitter.id).done
    start = chores_world(11).house.start
    simulator.place_robot(start)
    assert math.dist(sitter.pose[:2], start[:2]) == pytest.approx(0.85, abs=1e-6) and sitter.posture == STAND
    simulator.place_robot(Pose2(sitter.pose.x, sitter.pose.y, 0.0)) if chores_world(11).free(*sitter.pose[:2]) else None
    assert simulator.handle("ask_to_stay", sitter.id).done in (True, False)
    stayed = sitter.pose
    if not sitter.follows:
        simulator.place_robot(start)
        assert sitter.pose == stayed
