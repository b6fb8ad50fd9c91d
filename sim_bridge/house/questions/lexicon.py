"""Words about household objects: ambiguous names, everyday names, and objects with a visible state."""

from __future__ import annotations

from functools import cache

from sim_bridge.house.scene import HouseObject

SPOKEN = {"television": "TV", "tv stand": "TV stand", "refrigerator": "fridge", "ceiling lamp": "ceiling light"}
# Other correct names of an object that a question asks for.
ALSO = {
    "cooking pot": "pot", "computer monitor": "monitor", "wall clock": "clock", "alarm clock": "clock",
    "water bottle": "bottle", "detergent bottle": "bottle", "potted plant": "plant", "house plant": "plant",
    "cactus": "plant", "picture frame": "photo", "coffee machine": "coffee maker", "building blocks": "blocks",
    "cardboard box": "box", "teddy bear": "stuffed animal", "painting": "picture", "cereal box": "cereal",
    "soap dispenser": "soap", "knife block": "knives", "toy car": "car",
    "toothbrush cup": "toothbrushes", "tv stand": "cabinet", "wall lamp": "lamp", "floor lamp": "lamp",
    "table lamp": "lamp", "desk lamp": "lamp", "office chair": "chair", "bathroom scale": "scale",
    "toolbox": "tool box",
}
DOORS = ("door",)
OPENINGS = ("door", "window", "curtains", "front door")  # in the wall, not on it
BUILT_IN = ("kitchen counter", "kitchen sink")  # one continuous worktop: people do not say what is next to it
MASS = frozenset(("toilet paper",))
SINGULAR_S = frozenset(("canvas", "mattress"))

# Kinds in one group look alike: no question is asked about one if another one could be meant.
_ALIKE = (
    ("chair", "office chair", "armchair"), ("stool", "bar stool", "ottoman"), ("sofa", "armchair", "couch"),
    ("dining table", "kitchen table", "desk", "workbench"), ("coffee table", "side table"),
    ("console table", "sideboard"), ("table lamp", "desk lamp"), ("ceiling lamp", "pendant lamp"),
    ("sideboard", "dresser", "tv stand"), ("dresser", "nightstand", "filing cabinet"),
    ("bookshelf", "metal shelf", "pantry shelf", "bathroom shelf", "wall shelf", "shoe rack", "display cabinet"),
    ("kitchen counter", "kitchen island"), ("washing machine", "dryer", "dishwasher"),
    ("trash can", "bucket", "laundry basket", "umbrella stand"), ("mug", "toothbrush cup"),
    ("vase", "potted plant", "house plant"), ("potted plant", "house plant", "cactus"),
    ("painting", "calendar", "picture frame", "whiteboard"), ("television", "computer monitor"),
    ("laptop", "computer monitor"), ("wall clock", "alarm clock"), ("rug", "bath mat", "doormat", "yoga mat"),
    ("ball", "exercise ball"), ("cardboard box", "toy box", "toolbox", "building blocks", "suitcase"),
    ("coat rack", "clothes rack", "drying rack"), ("bicycle", "exercise bike"), ("jar", "bottle"),
    ("soap dispenser", "bottle"), ("book", "cereal box"), ("broom", "vacuum cleaner"), ("front door", "door"),
    ("bench", "coffee table"),
)
# Objects that contain visible unlabelled ones of another kind: plates in a dish rack, spines in a bookshelf.
_SHOWS = {"dish rack": ("plate",), "wine rack": ("bottle",), "bookshelf": ("book",), "sofa": ("cushion",),
          "drying rack": ("towel",), "pantry shelf": ("jar", "cereal box", "bottle"), "coat rack": ("hat", "backpack"),
          "wardrobe": ("hat",), "clothes rack": ("hat",), "display cabinet": ("plate", "vase", "mug"),
          "knife block": ("cutting board",), "metal shelf": ("cardboard box", "toolbox"), "shoe rack": ("shoes",),
          "spice rack": ("jar",), "bathroom shelf": ("towel",)}
_PLAIN_NAMES = frozenset(("pet bed", "high chair", "weight bench"))  # never meant by the last word alone
_GROUPS: dict[str, set[str]] = {}
for _group in _ALIKE:
    for _kind in _group:
        _GROUPS.setdefault(_kind, set()).update(_group)


@cache
def confusable(kind: str, other: str) -> bool:
    """Return whether a person could mean `other` by the name `kind`: same, more special, or looking alike."""
    special = other not in _PLAIN_NAMES and kind not in _PLAIN_NAMES
    return (kind == other or other in _GROUPS.get(kind, ()) or kind in _SHOWS.get(other, ())
            or (special and (other.endswith(" " + kind) or kind.endswith(" " + other))))


# Portable belongings, asked for as "my ...".
BELONGINGS = frozenset((
    "laptop", "book", "mug", "backpack", "suitcase", "guitar", "teddy bear", "hat", "shoes", "ball", "toy car",
    "water bottle", "yoga mat", "bicycle", "toolbox", "umbrella", "alarm clock", "iron", "building blocks",
    "exercise ball",
))
# Objects whose room is obvious: nobody asks which room the toilet is in.
OBVIOUS = frozenset((
    "toilet", "bathtub", "shower", "oven", "refrigerator", "bed", "kitchen sink", "bathroom sink", "dishwasher",
    "door", "front door", "window", "curtains", "kitchen counter", "wall cabinet", "range hood", "toilet paper",
    "ceiling lamp", "pendant lamp", "dining table", "nightstand", "kitchen island", "bath mat", "sofa", "television",
    "tv stand", "coffee table", "kitchen table", "bathroom scale", "bathroom shelf", "pantry shelf", "doormat",
    "soap dispenser", "toothbrush cup", "towel", "microwave", "toaster", "kettle", "dish rack", "spice rack",
    "knife block", "workbench", "treadmill", "dumbbell rack", "weight bench", "lawn mower",
))
# Surfaces with unlabelled objects of their own (pillows, spines of books): no question asks what is on them.
CLUTTERED = frozenset(("bed", "tv stand", "bookshelf", "display cabinet", "wine rack", "kitchen sink", "bathroom sink",
                       "pantry shelf"))
COVERED = {"bed": "blanket"}  # the part that shows the colour of these objects, instead of their frame
# Objects with several colours, or with one that is known without looking.
COLOUR_UNCLEAR = frozenset((
    "window", "wall cabinet", "range hood", "toilet paper", "shower", "ceiling lamp", "toilet", "bathtub", "dish rack",
    "potted plant", "house plant", "cactus", "television", "globe", "aquarium", "painting", "mirror", "wall clock",
    "bathroom sink", "kitchen counter", "kitchen island", "kitchen sink", "tire", "whiteboard", "calendar",
    "building blocks", "jar",
))
MATERIAL_VARIES = frozenset((
    "sofa", "armchair", "ottoman", "office chair", "chair", "coffee table", "desk", "trash can", "basket",
    "laundry basket", "filing cabinet", "wine rack", "bucket", "bench", "bookshelf",
))
MATERIAL_HIDDEN = ("black",)  # neither grain nor weave shows in these colours
PALE_WHEN_LIT = ("white", "beige")  # shades of these colours look alike with light behind them
PALE_METAL = ("white", "gray", "silver")  # metal of these colours looks alike, because it reflects its surroundings

# Objects that reveal the kind of a room.
TYPICAL = {
    "bedroom": ("bed", "wardrobe", "crib", "nightstand"), "bathroom": ("toilet", "bathtub", "shower", "bathroom sink"),
    "kitchen": ("oven", "refrigerator", "kitchen sink", "kitchen counter", "wall cabinet", "dishwasher"),
    "living room": ("sofa", "television", "tv stand", "fireplace", "coffee table"), "dining room": ("dining table",),
    "study": ("desk", "office chair", "computer monitor"), "laundry room": ("washing machine", "dryer"),
    "garage": ("workbench", "lawn mower", "tire"), "hallway": ("front door", "coat rack", "doormat"),
    "entryway": ("front door", "coat rack", "doormat"), "closet": ("clothes rack",), "pantry": ("pantry shelf",),
    "workout room": ("treadmill", "dumbbell rack", "weight bench", "exercise bike", "punching bag"),
}

SAME_ROOM = {"entryway": "hallway", "hallway": "entryway"}  # a partial view does not distinguish them

BEDS = ("bed",)
CHAIRS = ("chair",)
SEATS = ("sofa", "armchair")
ELECTRIC = ("floor lamp", "table lamp", "desk lamp", "wall lamp", "ceiling lamp", "pendant lamp", "television",
            "computer monitor")
# Objects whose number is known without looking.
ALWAYS_ONE = frozenset((
    "toilet", "bathtub", "shower", "oven", "refrigerator", "dishwasher", "bed", "kitchen sink", "bathroom sink",
    "range hood", "dining table", "washing machine", "dryer", "television", "tv stand", "fireplace", "kitchen table",
    "toilet paper", "bath mat", "soap dispenser", "toothbrush cup", "sofa", "coffee table", "desk", "wardrobe",
    "treadmill", "rug", "ceiling lamp", "pendant lamp", "front door", "kitchen counter", "wall cabinet",
    "tire",  # drawn as a stack
))
# Furniture with an unambiguous front, so that left and right of it are defined.
FRONTED = frozenset((
    "oven", "refrigerator", "sofa", "desk", "tv stand", "bookshelf", "wardrobe", "dresser", "bathroom sink",
    "kitchen sink", "washing machine", "dryer", "toilet", "dishwasher", "piano", "fireplace", "bed", "sideboard",
    "display cabinet", "armchair", "filing cabinet", "console table", "aquarium", "metal shelf", "pantry shelf",
    "bathroom shelf", "shoe rack", "coat rack", "workbench",
))
FLOWING = frozenset(("kitchen sink", "bathroom sink"))  # objects that are running or off
STATE_NOT_ASKED = frozenset(("aquarium", "window", "treadmill"))  # the state is too small to be seen reliably
NEVER_FULL = frozenset(("vase", "coat rack", "umbrella stand", "drying rack"))  # people do not call them full
# Objects whose state is visible from every side need no view from the front.
SAME_FROM_ALL_SIDES = frozenset((
    "floor lamp", "table lamp", "desk lamp", "ceiling lamp", "pendant lamp", "candle", "door", "bed", "fruit bowl",
    "trash can", "laundry basket", "dish rack", "drying rack", "coat rack", "umbrella stand", "vase", "bathtub",
    "cardboard box", "basket",
))


def front_of(obj: HouseObject) -> int:
    """Return the instance that must be viewed from its front to see its state; 0 if any side suffices."""
    return 0 if obj.kind in SAME_FROM_ALL_SIDES else obj.id


def colour_unclear(obj: HouseObject) -> bool:
    """Return whether people could disagree about the colour: several colours, pale metal, a pale lit shade."""
    pale = obj.state == "on" and obj.kind in ELECTRIC and obj.colour in PALE_WHEN_LIT
    return obj.kind in COLOUR_UNCLEAR or pale or (obj.material == "metal" and obj.colour in PALE_METAL)


WRONG_COLOURS = {  # wrong choice to offer with the true colour: very different under any light
    "red": ("green", "blue", "white"), "orange": ("blue", "purple", "green"), "yellow": ("blue", "purple", "black"),
    "green": ("red", "purple", "white"), "blue": ("red", "orange", "green"), "purple": ("green", "yellow", "white"),
    "pink": ("green", "black", "blue"), "brown": ("white", "blue", "green"), "beige": ("blue", "green", "black"),
    "white": ("brown", "blue", "black"), "gray": ("red", "blue", "brown"), "black": ("white", "red", "yellow"),
    "turquoise": ("red", "brown", "black"), "silver": ("red", "black", "green"), "gold": ("blue", "black", "green"),
}
NEAR_COLOURS = {"silver": ("gray",), "gray": ("grey", "silver"), "gold": ("yellow", "golden"), "beige": ("cream",),
                "turquoise": ("teal", "cyan")}
