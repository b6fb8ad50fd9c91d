"""Made-up facts of frames, clocks, maps, camera matrices and navigation: each fault is named, and no other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqa_nodes.core.findings import Finding, failed
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.doctor.facts import Clock, Grid, HeardStream, RobotFacts, TfLink
from eqa_nodes.doctor.judge import (
    Navigation,
    above,
    judge_frames,
    judge_map,
    judge_matrix,
    judge_navigation,
    judge_times,
)

SECOND = 10**9
BEGIN = 1_700_000_000 * SECOND
ODOM, BASE = TfLink("map", "odom", False), TfLink("odom", "base_link", False)
MOUNT, OPTICAL = TfLink("base_link", "cam", True), TfLink("cam", "optical", True)


def stream(hz: float = 10.0, count: int = 50, age_s: float = 0.02, begin_ns: int = BEGIN) -> HeardStream:
    stamps = [begin_ns + round(i * SECOND / hz) for i in range(count)]
    return HeardStream(stamps, [stamp + round(age_s * SECOND) for stamp in stamps])


def sound() -> RobotFacts:
    """A robot without fault."""
    return RobotFacts({"color": stream(), "depth": stream(), "odom": stream(30.0, 150)},
                      {ODOM: stream(20.0, 100), BASE: stream(30.0, 150, 0.01), MOUNT: HeardStream(),
                       OPTICAL: HeardStream()},
                      {"color": "optical", "depth": "optical"})


def linked(**links: HeardStream) -> RobotFacts:
    facts = sound()
    return replace(facts, links={**facts.links, **{TfLink(*name.split("__"), False): s for name, s in links.items()}})


def without(*links: TfLink) -> RobotFacts:
    facts = sound()
    return replace(facts, links={link: s for link, s in facts.links.items() if link not in links})


def with_stream(**streams: HeardStream) -> RobotFacts:
    facts = sound()
    return replace(facts, streams={**facts.streams, **streams})


def of(facts: RobotFacts, live: bool = True) -> list[Finding]:
    return [*judge_frames(facts), *judge_times(facts, live)]


def troubles(findings: list[Finding]) -> dict[str, str]:
    assert all(bool(f.remedy) == (f.state != "ok") for f in findings)
    return {f.name: f.state for f in findings if f.state != "ok"}


def test_a_sound_robot_has_no_fault() -> None:
    findings = of(sound())
    assert not troubles(findings) and not failed(findings, strict=True)
    assert {f.name: f.found for f in findings}["tf to color"] == "map > odom > base_link > cam > optical"
    assert [f.name for f in findings] == ["tf to color", "tf to depth", "tf map > odom", "tf odom > base_link",
                                          "time sync", "time jumps"]


@pytest.mark.parametrize(("facts", "wanted", "words"), [
    (without(ODOM), {"tf to color": "warning", "tf to depth": "warning"}, "'odom' has no parent"),
    (without(ODOM, BASE), {"tf to color": "error", "tf to depth": "error"}, "'base_link' is not connected"),
    (without(MOUNT), {"tf to color": "error", "tf to depth": "error", "loose frames": "warning"},
     "'cam' is not connected"),
    (without(OPTICAL), {"tf to color": "error", "tf to depth": "error", "loose frames": "warning"},
     "no transform locates 'optical'"),
    (linked(gripper__finger=stream()), {"loose frames": "warning"}, "gripper (finger): not connected to map"),
    (linked(world__base_link=stream()), {"tf of base_link": "error"}, "odom and world"),
    (linked(optical__map=stream()), {"tf to color": "error", "tf to depth": "error"}, "form a loop"),
    (replace(sound(), links={**sound().links, BASE: stream(30.0, 150, 1.0)}),
     {"tf odom > base_link": "warning"}, "ms behind the images"),
    (replace(sound(), links={**sound().links, ODOM: stream(count=1, begin_ns=BEGIN - SECOND)}),
     {"tf map > odom": "error"}, "does not move on /tf_static"),
    (replace(sound(), links={**sound().links, ODOM: stream(2.0, 12)}), {"tf map > odom": "warning"}, "2.0 Hz"),
])
def test_faults_of_frames(facts: RobotFacts, wanted: dict[str, str], words: str) -> None:
    findings = list(judge_frames(facts))
    assert troubles(findings) == wanted
    assert any(words in f.found + f.remedy for f in findings)


def test_named_frames_stand_in_for_the_usual_ones() -> None:
    facts = replace(sound(), links={TfLink("mocap", "rig", False): stream(),
                                    TfLink("rig", "optical", True): HeardStream()})
    assert set(troubles(list(judge_frames(facts)))) == {"tf to color", "tf to depth"}
    assert not troubles(list(judge_frames(facts, "mocap", "rig")))


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=12))
def test_any_tangle_of_frames_is_walked_to_its_end(pairs: list[tuple[str, str]]) -> None:
    facts = RobotFacts(links={TfLink(parent, child, False): stream(count=3) for parent, child in pairs},
                       cameras={"depth": "a"}, streams={"depth": stream(count=3)})
    way = above("a", facts.parents())
    assert way[0] == "a" and len(set(way)) == len(way)
    findings = list(judge_frames(facts))
    assert findings and findings[0].state in ("warning", "error")  # no map, no base_link


@pytest.mark.parametrize(("facts", "wanted", "words"), [
    (with_stream(color=stream(age_s=0.8), depth=stream(age_s=0.8)), {"time sync": "warning"}, "color 800 ms"),
    (with_stream(odom=stream(age_s=3.0)), {"time sync": "error"}, "odom 3000 ms"),
    (with_stream(depth=stream(age_s=-0.3)), {"time sync": "error"}, "stamps are in the future"),
    (with_stream(depth=stream(age_s=-0.05)), {"time sync": "warning"}, "stamps are in the future"),
    (with_stream(depth=stream(age_s=0.2)), {"time sync": "warning"}, "colour and depth 0.18 s apart"),
    (with_stream(color=stream(age_s=BEGIN / 1e9, begin_ns=5 * SECOND)), {"time sync": "error"}, "different clocks"),
    (replace(sound(), links={**sound().links, ODOM: stream(20.0, 100, -1.0)}), {}, "none in 5 streams"),
])
def test_faults_of_clocks(facts: RobotFacts, wanted: dict[str, str], words: str) -> None:
    findings = list(judge_times(facts, live=True))
    assert troubles(findings) == wanted
    assert any(words in f.found + f.remedy for f in findings)
    assert all(f.state != "error" for f in judge_times(facts, live=False))  # an old bag is no broken one


@settings(max_examples=40)
@given(at=st.integers(1, 48), jump_s=st.floats(1.5, 5000.0), back=st.booleans())
def test_a_jump_of_stamps_is_found_wherever_it_is(at: int, jump_s: float, back: bool) -> None:
    odom = stream()
    sign = -1 if back else 1
    jumped = HeardStream([s + (sign * round(jump_s * SECOND) if i >= at else 0) for i, s in enumerate(odom.stamps_ns)],
                    odom.received_ns)
    findings = [f for f in judge_times(with_stream(odom=jumped), live=True) if f.name == "time jumps"]
    assert findings[0].state == ("error" if back else "warning")
    assert findings[0].found.startswith(f"odom 1 x {'back' if back else 'ahead'} by up to")


def test_by_a_simulated_clock_any_pace_is_right() -> None:
    facts = sound()
    slow = [BEGIN + 3 * i * SECOND for i in range(50)]  # arrivals: a thirtieth of real time
    shown = HeardStream([10 * SECOND + i * SECOND // 10 for i in range(50)], slow)
    simulated = replace(facts, streams={"color": shown, "depth": shown}, clock=Clock([t - 1 for t in slow],
                        shown.stamps_ns),
                        links={ODOM: shown, BASE: shown, MOUNT: HeardStream(), OPTICAL: HeardStream()})
    assert not troubles(of(simulated))
    anew = replace(simulated, clock=Clock(simulated.clock.received_ns, shown.stamps_ns[25:] + shown.stamps_ns[:25]))
    assert troubles(list(judge_times(anew, live=True)))["clock"] == "error"


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=20), st.lists(st.integers(0, 10**12), min_size=1))
def test_a_clock_shows_the_last_value_until_then(received: list[int], asked: list[int]) -> None:
    received = sorted(set(received))
    clock = Clock(received, [7 * t for t in received])
    for t, shown in zip(asked, clock.at(np.array(asked, np.int64)), strict=True):
        assert shown == 7 * max((h for h in received if h <= t), default=received[0])


@pytest.mark.parametrize(("grid", "state"), [
    (Grid(100, 80, 0.05, 0.4), "ok"), (Grid(100, 80, 0.05, 0.0), "warning"), (Grid(0, 0, 0.05, 0.0), "error"),
    (Grid(10, 10, 0.0, 0.5), "error")])
def test_maps(grid: Grid, state: str) -> None:
    assert judge_map(grid).state == state


@pytest.mark.parametrize(("fx", "fy", "cx", "cy", "state", "words"), [
    (320.0, 320.0, 320.0, 240.0, "ok", "90 deg wide"),
    (1280.0, 1280.0, 640.0, 360.0, "error", "not in the image"),
    (320.0, 320.0, 320.0, 0.0, "error", "not in the image"),
    (150.0, 150.0, 320.0, 240.0, "ok", "130 deg wide"), (148.0, 148.0, 320.0, 240.0, "warning", "unusual angle"),
    (1800.0, 1800.0, 320.0, 240.0, "ok", "20 deg wide"), (1830.0, 1830.0, 320.0, 240.0, "warning", "unusual angle"),
    (320.0, 257.0, 320.0, 240.0, "ok", ""), (320.0, 255.0, 320.0, 240.0, "warning", "differ"),
    (320.0, 399.0, 320.0, 240.0, "ok", ""), (320.0, 401.0, 320.0, 240.0, "warning", "differ"),
    (320.0, 320.0, 447.0, 240.0, "ok", ""), (320.0, 320.0, 449.0, 240.0, "warning", "far from the middle"),
    (320.0, 320.0, 320.0, 145.0, "ok", ""), (320.0, 320.0, 320.0, 143.0, "warning", "far from the middle")])
def test_camera_matrices(fx: float, fy: float, cx: float, cy: float, state: str, words: str) -> None:
    line = judge_matrix(Intrinsics(640, 480, fx, fy, cx, cy))
    assert line.state == state and words in line.found and bool(line.remedy) == (state != "ok")


@pytest.mark.parametrize(("age_s", "state"), [(0.31, "ok"), (0.33, "warning"), (2.01, "warning"), (2.03, "error")])
def test_a_transform_may_be_0_3_s_behind_the_images_and_is_useless_after_2_s(age_s: float, state: str) -> None:
    """Images are 20 ms old on arrival, so a transform that arrives after age_s is age_s - 0.02 s behind them."""
    facts = replace(sound(), links={**sound().links, BASE: stream(1000.0, 5000, age_s)})
    assert {f.name: f.state for f in judge_frames(facts)}["tf odom > base_link"] == state


@pytest.mark.parametrize(("hz", "images_hz", "state"), [
    (5.1, 30.0, "ok"), (4.9, 30.0, "warning"), (1.1, 2.0, "ok"), (0.9, 2.0, "warning")])
def test_a_moving_transform_needs_5_hz_or_half_the_rate_of_the_images(hz: float, images_hz: float, state: str) -> None:
    images = stream(images_hz, 60)
    facts = replace(sound(), streams={"color": images, "depth": images},
                    links={**sound().links, ODOM: stream(hz, 60, -1.0, BEGIN)})
    assert {f.name: f.state for f in judge_frames(facts)}["tf map > odom"] == state


@pytest.mark.parametrize(("age_s", "state", "words"), [
    (0.49, "ok", ""), (0.51, "warning", "check load and network"), (1.99, "warning", "check load"),
    (2.01, "error", "too old to drive by"), (3599.0, "error", "too old"), (3601.0, "error", "different clocks"),
    (-0.019, "ok", ""), (-0.021, "warning", "in the future"), (-0.119, "warning", "in the future"),
    (-0.121, "error", "in the future")])
def test_ages_of_images_on_arrival(age_s: float, state: str, words: str) -> None:
    line = next(judge_times(with_stream(color=stream(age_s=age_s), depth=stream(age_s=age_s)), live=True))
    assert (line.name, line.state) == ("time sync", state) and words in line.remedy


@pytest.mark.parametrize(("depth_age_s", "state"), [(0.119, "ok"), (0.121, "warning")])
def test_colour_and_depth_may_be_0_1_s_apart(depth_age_s: float, state: str) -> None:
    line = next(judge_times(with_stream(depth=stream(age_s=depth_age_s)), live=True))
    assert line.state == state and ("apart" in line.found) == (state != "ok")


@pytest.mark.parametrize(("role", "jump_s", "state"), [
    ("odom", 0.99, "ok"), ("odom", 1.01, "warning"), ("odom", -0.05, "ok"), ("odom", -0.15, "error"),
    ("color", -1.05, "ok"), ("color", -1.15, "error")])
def test_a_jump_is_1_s_ahead_or_any_step_back_but_for_images(role: str, jump_s: float, state: str) -> None:
    """At 10 Hz a jump of -0.05 s makes a step of 0.05 s. Images that are out of order are reported with their rate."""
    plain = stream()
    stamps = [s + (round(jump_s * SECOND) if i >= 25 else 0) for i, s in enumerate(plain.stamps_ns)]
    findings = judge_times(with_stream(**{role: HeardStream(stamps, plain.received_ns)}), live=True)
    assert {f.name: f.state for f in findings}["time jumps"] == state


NAV = "nav2_msgs/action/NavigateToPose"
DRIVEN = Navigation({"/navigate_to_pose": NAV}, {"/navigate_to_pose": NAV}, {"/bt_navigator": "active"},
                    {"/global_costmap/costmap": 1})


@pytest.mark.parametrize(("seen", "wanted", "words"), [
    (DRIVEN, {}, "active: /bt_navigator"), (DRIVEN._replace(states={}, costmaps={"/c": 0}), {}, "navigate_to_pose"),
    (DRIVEN._replace(actions={"/navigate_to_pose": ""}), {"navigate_to_pose": "error"}, "bring up Nav2"),
    (DRIVEN._replace(actions={"/navigate_to_pose": "x/action/Y"}), {"navigate_to_pose": "error"}, "the graph calls"),
    (DRIVEN._replace(states={"/bt_navigator": "inactive"}), {"lifecycle": "error"}, "/bt_navigator inactive"),
    (DRIVEN._replace(states={"/bt_navigator": ""}), {"lifecycle": "error"}, "does not answer"),
    (DRIVEN._replace(states={"/bt_navigator": "active", "/lidar": "unconfigured"}), {"lifecycle": "warning"}, "/lidar"),
    (DRIVEN._replace(states=None), {"lifecycle": "warning"}, "lifecycle_msgs is not installed"),
    (DRIVEN._replace(costmaps={"/global_costmap/costmap": 0}), {"costmap": "error"}, "0 publishers"),
    (DRIVEN._replace(map_topic="/map"), {"map": "warning"}, "no message on /map")])
def test_navigation(seen: Navigation, wanted: dict[str, str], words: str) -> None:
    findings = list(judge_navigation(seen))
    assert troubles(findings) == wanted and any(words in f.found + f.remedy for f in findings)
