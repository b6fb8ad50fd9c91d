"""Parameters of the policies; where a paper or its code publishes a value, that is the default."""

from __future__ import annotations

from dataclasses import dataclass

from eqa_nodes.core.ranges import Count, Counted, NotNegative, Positive, Share


@dataclass(frozen=True)
class RandomConfig:
    """Of the policy that goes anywhere."""

    nearest_m: NotNegative = 1.0  # cells nearer than this by path are not drawn, metres


@dataclass(frozen=True)
class FrontierConfig:
    """Frontiers by weight (explore-eqa)."""

    unexplored: Positive = 0.2  # scale of the unexplored share, in the weight
    unoccupied: Positive = 2.0  # scale of the free share, in the weight
    distance_m: Positive = 10.0  # scale of the distance, in the weight, metres
    unexplored_ray_m: Positive = 3.0  # length of the ray that counts unexplored cells, metres
    unoccupied_ray_m: Positive = 1.0  # length of the ray that counts free cells, metres
    leg_m: Positive = 3.0  # length of a leg, metres


@dataclass(frozen=True)
class SemanticConfig:
    """Semantic value map and regions (EXPRESS-Bench and its code)."""

    disc_m: Positive = 1.0  # radius of what a place paints, metres
    sigma_cells: Positive = 5.0  # width of the Gaussian that smooths worth, cells
    global_scale: Positive = 0.5  # scale s of the weight exp(worth / s)
    merge_m: NotNegative = 3.0  # floor of one name so near to each other is one region, metres
    # votes from which a square counts for a region: with `agreement`, the threshold that the paper names and its code
    # lacks
    least_votes: NotNegative = 1.0
    agreement: Share = 0.5  # share of them that the region's name must have


@dataclass(frozen=True)
class GoalConfig:
    """Goal-oriented exploration (EXPRESS-Bench)."""

    semantic: SemanticConfig = SemanticConfig()
    leg_m: Positive = 3.0  # length of a leg, metres
    visits: Counted = 3  # visits to one region at most
    visited_m: NotNegative = 0.5  # radius round a visit that counts no more, metres
    spread_m: NotNegative = 2.0  # where nothing is valued, floor so far from all visits is next, metres


@dataclass(frozen=True)
class FineConfig:
    """Fine-EQA."""

    semantic: SemanticConfig = SemanticConfig()
    frontier: FrontierConfig = FrontierConfig()
    leg_m: Positive = 3.0  # length of a leg, metres
    value: Positive = 0.5  # scale of the semantic terms
    value_ray_m: Positive = 3.0  # length of the ray of the semantic terms, metres
    quiet: Count = 2  # first decisions without the semantic terms
    visits: Counted = 3  # visits to one region at most
    visited_m: NotNegative = 0.5  # radius round a visit that counts no more, metres


@dataclass(frozen=True)
class SnapshotConfig:
    """3D-Mem."""

    leg_m: Positive = 1.0  # length of a leg, metres
    prefilter: Counted = 10  # most relevant views that compete
    together_m: Positive = 3.5  # one snapshot for targets so near to each other, metres
    unseen: float = 0.2  # score of a frontier that no view shows
    margin: NotNegative = 0.1  # by so much another image must be better than the one driven to
    sight_m: Positive = 6.0  # a frontier is seen from so far, metres
    near_m: NotNegative = 1.0  # a thing is looked at from no nearer, metres


@dataclass(frozen=True)
class TopoConfig:
    """AQ-Nav; worth, room, unseen and distance are the weights of the scorer without training."""

    leg_m: Positive = 3.0  # length of a leg, metres
    merge_m: Positive = 1.0  # nodes so near to each other are one, metres
    sight_m: Positive = 6.0  # views so near to a node can look at it, metres
    votes_m: Positive = 2.5  # how far round a node its room is asked for, metres
    beta: Share = 0.5  # relevance from which a view is a keyframe for the answer (published)
    stop: float = -4.0  # score of stopping
    worth: float = 1.0  # weight of what views promise
    room: float = 1.0  # weight of the room's name
    unseen: float = 0.2  # weight of floor that was not seen
    distance: float = 0.1  # weight of the way there, a metre


@dataclass(frozen=True)
class BestConfig:
    """Parameters of our own policy, chosen on train seeds."""

    leg_m: Positive = 3.0  # length of a leg, metres
    switch: Positive = 1.3  # another target must score so many times better
    turn_m: NotNegative = 0.5  # what half a turn costs beside the way's length, metres
    fixed_m: Positive = 1.0  # what any drive costs beside its length, metres
    fan_m: Positive = 3.0  # reach of the fan that counts unexplored floor, metres
    area_m2: Positive = 3.0  # how much of that floor is as good as a room, square metres
    unknown: Share = 0.35  # chance of a room not yet recognised
    again: Share = 0.4  # what of it stays when the likely rooms are known
    inside: Share = 0.8  # chance that a frontier belongs to the room it is in, where it is wider than doorway_m
    doorway: Share = 0.35  # chance that a frontier belongs to the room it is in, where it is narrower
    doorway_m: NotNegative = 1.2  # width of a doorway, metres
    votes_m: Positive = 2.5  # how far round a frontier rooms are asked for, metres
    look: NotNegative = 0.5  # what a promising spot is worth beside a frontier
    thin: NotNegative = 0.6  # what a thing seen from afar is worth beside a frontier
    seen_m: NotNegative = 1.5  # spots so near to a view were looked at, metres
    count: Count = 6  # spots at most
    remembered: Count = 60  # views that they come from, at most
    near_m: Positive = 1.6  # a thing is in full view from so far on, metres
    far_m: Positive = 2.8  # a thing is in full view up to so far, metres
    rooms: bool = True  # look for the likely rooms
    looks: bool = True  # drive to promising spots
    confirm: bool = True  # look again before an answer
    straight: bool = False  # distances as the crow flies, to see what those on the map are worth


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
