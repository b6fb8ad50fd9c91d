"""Parameters of the policies; where a paper or its code publishes a value, that is the default."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RandomConfig:
    """nearest_m: cells nearer than this by path are not drawn."""

    nearest_m: float = 1.0


@dataclass(frozen=True)
class FrontierConfig:
    """Scales of the weight, lengths of the rays, and of a leg in metres (explore-eqa)."""

    unexplored: float = 0.2
    unoccupied: float = 2.0
    distance_m: float = 10.0
    unexplored_ray_m: float = 3.0
    unoccupied_ray_m: float = 1.0
    leg_m: float = 3.0


@dataclass(frozen=True)
class SemanticConfig:
    """Semantic value map and regions (EXPRESS-Bench and its code). Lengths in metres.

    disc_m: radius of what a place paints; sigma_cells: of the Gaussian; global_scale: in exp(worth / 0.5); merge_m:
    floor of one name so near to each other is one region; least_votes, agreement: from which a square counts for a
    region, the threshold that the paper names and its code lacks.
    """

    disc_m: float = 1.0
    sigma_cells: float = 5.0
    global_scale: float = 0.5
    merge_m: float = 3.0
    least_votes: float = 1.0
    agreement: float = 0.5


@dataclass(frozen=True)
class GoalConfig:
    """Goal-oriented exploration. visits: to one region at most; visited_m: radius round a visit that counts no more.

    spread_m: where nothing is valued, floor so far from all visits is next.
    """

    semantic: SemanticConfig = SemanticConfig()
    leg_m: float = 3.0
    visits: int = 3
    visited_m: float = 0.5
    spread_m: float = 2.0


@dataclass(frozen=True)
class FineConfig:
    """Fine-EQA. value, value_ray_m: scale and ray of the semantic terms, off for the first `quiet` decisions."""

    semantic: SemanticConfig = SemanticConfig()
    frontier: FrontierConfig = FrontierConfig()
    leg_m: float = 3.0
    value: float = 0.5
    value_ray_m: float = 3.0
    quiet: int = 2
    visits: int = 3
    visited_m: float = 0.5


@dataclass(frozen=True)
class SnapshotConfig:
    """3D-Mem. prefilter: most relevant views that compete; together_m: one snapshot for targets so near to each other.

    unseen: score of a frontier that no view shows; margin: by so much another image must be better than the one driven
    to; sight_m: a frontier is seen from so far; near_m: a thing is looked at from no nearer.
    """

    leg_m: float = 1.0
    prefilter: int = 10
    together_m: float = 3.5
    unseen: float = 0.2
    margin: float = 0.1
    sight_m: float = 6.0
    near_m: float = 1.0


@dataclass(frozen=True)
class TopoConfig:
    """AQ-Nav. beta: relevance from which a view is a keyframe for the answer (published); stop: score of stopping.

    merge_m: nodes so near to each other are one; sight_m: views so near to a node can look at it; votes_m: how far
    round a node its room is asked for; worth, room, unseen, distance: weights of the scorer without training.
    """

    leg_m: float = 3.0
    merge_m: float = 1.0
    sight_m: float = 6.0
    votes_m: float = 2.5
    beta: float = 0.5
    stop: float = -4.0
    worth: float = 1.0
    room: float = 1.0
    unseen: float = 0.2
    distance: float = 0.1


@dataclass(frozen=True)
class BestConfig:
    """Parameters of our own policy, chosen on train seeds. Lengths in metres, chances 0..1.

    leg_m: length of a leg; switch: another target must score so many times better; turn_m, fixed_m: what half a
    turn and any drive cost beside its length; fan_m, area_m2: reach of the fan that counts unexplored floor, and
    how much of it is as good as a room; unknown: chance of a room not yet recognised; again: what of it stays when
    the likely rooms are known; inside, doorway: chance that a frontier belongs to the room it is in, when it is
    wider or narrower than doorway_m; votes_m: how far round it rooms are asked for; look, thin: what a promising
    spot, and a thing seen from afar, are worth beside a frontier; seen_m: spots so near to a view were looked at;
    count, remembered: bounds of spots and of the views that they come from; near_m, far_m: a thing is in full view
    from between them.
    rooms, looks, confirm: the parts that can be switched off; straight: distances as the crow flies, to see what those
    on the map are worth.
    """

    leg_m: float = 3.0
    switch: float = 1.3
    turn_m: float = 0.5
    fixed_m: float = 1.0
    fan_m: float = 3.0
    area_m2: float = 3.0
    unknown: float = 0.35
    again: float = 0.4
    inside: float = 0.8
    doorway: float = 0.35
    doorway_m: float = 1.2
    votes_m: float = 2.5
    look: float = 0.5
    thin: float = 0.6
    seen_m: float = 1.5
    count: int = 6
    remembered: int = 60
    near_m: float = 1.6
    far_m: float = 2.8
    rooms: bool = True
    looks: bool = True
    confirm: bool = True
    straight: bool = False


@dataclass(frozen=True)
class PolicyConfig:
    """The parameters of every policy, by its name."""

    random: RandomConfig = RandomConfig()
    frontier: FrontierConfig = FrontierConfig()
    goal: GoalConfig = GoalConfig()
    fine: FineConfig = FineConfig()
    snapshot: SnapshotConfig = SnapshotConfig()
    topo: TopoConfig = TopoConfig()
    best: BestConfig = BestConfig()
