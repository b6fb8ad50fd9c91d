"""Words about household things: which names could be confused, what things are for, what they tell about their owners."""

from __future__ import annotations

from typing import NamedTuple

from sim_bridge.house.scene import Thing

SPOKEN = {"television": "TV", "tv": "TV", "tv stand": "TV stand", "refrigerator": "fridge"}
DOORS = ("door",)
OPENINGS = ("door", "window", "curtain", "curtains", "light switch", "front door")
MASS = frozenset(("bread", "fruit", "toilet paper", "toilet roll", "soap", "food", "laundry", "cat litter", "firewood"))
SINGULAR_S = frozenset(("chess", "gas", "canvas", "cutlery", "mattress"))

# Kinds in one group look alike or share a name: "the chair" could mean the armchair, so neither is named where both are.
_ALIKE = (
    ("chair", "dining chair", "office chair", "desk chair", "armchair", "kitchen chair"),
    ("stool", "bar stool", "footstool", "ottoman", "pouf", "chair"),
    ("sofa", "couch", "armchair", "loveseat", "sofa bed", "bench"),
    ("table", "dining table", "coffee table", "side table", "kitchen table", "desk", "console table", "end table"),
    ("lamp", "floor lamp", "table lamp", "desk lamp", "bedside lamp", "ceiling lamp", "ceiling light", "wall lamp"),
    ("cabinet", "cupboard", "sideboard", "dresser", "chest of drawers", "wardrobe", "bookcase", "bookshelf", "shelf",
     "nightstand", "tv stand", "shoe rack", "filing cabinet", "bathroom cabinet", "kitchen cabinet", "wall cabinet"),
    ("bowl", "fruit bowl", "pet bowl", "dog bowl", "cat bowl", "food bowl"),
    ("cup", "mug", "glass", "wine glass"),
    ("plant", "potted plant", "flower pot", "vase", "flowers", "vase of flowers"),
    ("painting", "picture", "poster", "photo", "picture frame", "framed photo", "calendar"),
    ("tv", "television", "monitor", "screen"),
    ("laptop", "computer", "tablet"),
    ("rug", "carpet", "mat", "bath mat", "doormat", "yoga mat"),
    ("basket", "laundry basket", "box", "toy box", "storage box", "crate"),
    ("bin", "trash can", "waste bin", "waste basket", "trash bin"),
    ("bed", "double bed", "single bed", "bunk bed", "crib", "sofa bed", "pet bed", "dog bed"),
    ("sink", "kitchen sink", "bathroom sink", "washbasin"),
    ("tap", "faucet", "kitchen tap"),
    ("washing machine", "dryer", "dishwasher", "oven"),
    ("stove", "oven", "cooker", "hob"),
    ("ball", "football", "basketball", "soccer ball"),
    ("book", "books", "magazine", "stack of books", "notebook"),
    ("guitar", "violin", "ukulele"),
    ("teddy bear", "toy", "doll", "soft toy", "cushion"),
    ("phone", "tablet", "remote control"),
    ("shoes", "boots", "slippers", "sneakers"),
    ("backpack", "bag", "handbag", "suitcase"),
    ("towel", "blanket", "towels"),
)
_GROUPS: dict[str, set[str]] = {}
for _group in _ALIKE:
    for _kind in _group:
        _GROUPS.setdefault(_kind, set()).update(_group)


def confusable(kind: str, other: str) -> bool:
    """Return whether a person could mean `other` by the name `kind`: same, more special, or looking alike."""
    return kind == other or other.endswith(" " + kind) or kind.endswith(" " + other) or other in _GROUPS.get(kind, ())


# What its owner carries about: asked for as "my ...".
BELONGINGS = frozenset((
    "laptop", "book", "phone", "backpack", "handbag", "guitar", "teddy bear", "mug", "cup", "glasses", "headphones",
    "umbrella", "suitcase", "tablet", "keys", "remote control", "hat", "shoes", "basketball", "football", "ball", "camera",
    "towel", "bag", "skateboard", "yoga mat", "violin", "toy car", "game controller", "wallet", "magazine", "notebook",
    "hair dryer", "toothbrush", "dumbbell", "dumbbells", "watering can", "bicycle", "soccer ball", "toy train", "doll",
))
# Where these are needs no looking: nobody asks which room the toilet is in.
OBVIOUS = frozenset((
    "toilet", "bathtub", "shower", "stove", "oven", "fridge", "refrigerator", "bed", "double bed", "single bed", "sink",
    "kitchen sink", "bathroom sink", "washbasin", "dishwasher", "door", "front door", "window", "curtain", "curtains",
    "kitchen counter", "counter", "kitchen cabinet", "cabinet", "wall cabinet", "range hood", "toilet paper",
    "toilet roll", "tap", "faucet", "ceiling lamp", "ceiling light", "light switch", "dining table", "nightstand",
    "kitchen island", "bathroom mirror", "towel rail", "bath mat",
))
# Surfaces that carry unlabelled things of their own (pillows, spines of books): what is on them is not asked.
CLUTTERED = frozenset(("bed", "double bed", "single bed", "bunk bed", "bookshelf", "bookcase", "sofa", "crib", "shelf"))

# What flows is running or off; what shows its state to every side needs no view from its front.
FLOWING = frozenset(("tap", "faucet", "kitchen tap", "bathroom tap", "kitchen sink", "sink", "bathroom sink", "washbasin"))
STATE_NOT_ASKED = frozenset(("aquarium", "window"))
SAME_FROM_ALL_SIDES = frozenset((
    "lamp", "floor lamp", "table lamp", "desk lamp", "bedside lamp", "ceiling lamp", "ceiling light", "pendant lamp", "candle",
    "door", "bed", "double bed", "single bed", "bowl", "fruit bowl", "pet bowl", "dog bowl", "cat bowl", "bin", "trash can",
    "laundry basket", "basket", "book", "umbrella", "suitcase", "fan", "bathtub", "glass", "mug", "vase", "waste basket",
))

BEDS = ("bed", "double bed", "single bed")
COVERED = {"bed": "blanket"}  # what shows the colour of these is not their frame
CHAIRS = ("chair", "dining chair", "kitchen chair")
SEATS = ("sofa", "couch", "armchair", "sofa bed", "loveseat")
FRUIT_BOWLS = ("fruit bowl", "bowl")
ELECTRIC = ("lamp", "floor lamp", "table lamp", "desk lamp", "bedside lamp", "tv", "television", "monitor", "computer", "fan")
COLD_STORES = ("fridge", "refrigerator")
# A count of these is known before looking.
ALWAYS_ONE = frozenset(("toilet", "bathtub", "shower", "stove", "oven", "fridge", "refrigerator", "dishwasher", "bed", "double bed",
                        "sink", "kitchen sink", "bathroom sink", "range hood", "door", "dining table", "washing machine", "tap"))
# Furniture with a front that everybody agrees on, so that left and right of it have a meaning.
FRONTED = frozenset((
    "stove", "oven", "fridge", "refrigerator", "sofa", "desk", "tv stand", "bookshelf", "bookcase", "wardrobe", "sink", "dresser",
    "kitchen sink", "bathroom sink", "washing machine", "toilet", "dishwasher", "piano", "upright piano", "fireplace", "bed",
    "double bed", "single bed", "chest of drawers", "sideboard", "cabinet", "armchair", "washbasin", "kitchen counter", "dryer",
))

def front_of(thing: Thing) -> int:
    """Return the instance to be looked at from its front for its state to be seen; 0 where any side will do."""
    return 0 if thing.kind in SAME_FROM_ALL_SIDES else thing.id


WRONG_COLOURS = {  # a colour to offer beside the true one: far from it under any light
    "red": ("green", "blue", "white"), "orange": ("blue", "purple", "green"), "yellow": ("blue", "purple", "black"),
    "green": ("red", "purple", "white"), "blue": ("red", "orange", "green"), "purple": ("green", "yellow", "white"),
    "pink": ("green", "black", "blue"), "brown": ("white", "blue", "green"), "beige": ("blue", "green", "black"),
    "white": ("brown", "blue", "black"), "gray": ("red", "blue", "brown"), "black": ("white", "red", "yellow"),
    "turquoise": ("red", "brown", "black"), "silver": ("red", "black", "green"), "gold": ("blue", "black", "green"),
}
NEAR_COLOURS = {"silver": ("gray",), "gray": ("grey", "silver"), "gold": ("yellow", "golden"), "beige": ("cream",),
                "turquoise": ("teal", "cyan")}


class Use(NamedTuple):
    """Something people want to do, and the kinds of things made for it, the most direct first; prep: how they are used."""

    purpose: str
    kinds: tuple[str, ...]
    prep: str = "at"


TOOLS = (  # What can I use to ... in the room?
    Use("heat water", ("kettle", "electric kettle", "stove", "microwave")),
    Use("make coffee", ("coffee machine", "coffee maker")),
    Use("toast bread", ("toaster",)),
    Use("heat up leftovers", ("microwave", "oven", "stove")),
    Use("clean the floor", ("vacuum cleaner", "broom", "mop")),
    Use("tell the time", ("clock", "wall clock", "alarm clock", "grandfather clock")),
    Use("cool the air", ("fan", "ceiling fan", "air conditioner")),
    Use("warm up the air", ("fireplace", "heater", "radiator", "stove")),
    Use("throw away some rubbish", ("bin", "trash can", "waste bin", "waste basket", "trash bin")),
    Use("see how I look", ("mirror", "bathroom mirror")),
    Use("light the room", ("floor lamp", "lamp", "table lamp", "desk lamp", "ceiling lamp", "ceiling light")),
    Use("cover myself when I am cold", ("blanket",)),
    Use("print a letter", ("printer",)),
    Use("listen to the news", ("radio", "tv", "television")),
    Use("water the plants", ("watering can",)),
    Use("keep dry in the rain", ("umbrella",)),
    Use("dry my hands", ("towel", "hand towel")),
    Use("reach a high shelf", ("ladder", "step ladder", "step stool")),
    Use("cut vegetables on", ("cutting board",)),
)
PLACES = (  # Where can I ...?
    Use("wash my clothes", ("washing machine",), "in"),
    Use("dry my clothes", ("dryer", "drying rack", "clothes rack"), "with"),
    Use("play the piano", ("piano", "upright piano", "grand piano"), "at"),
    Use("take a bath", ("bathtub",), "in"),
    Use("take a shower", ("shower",), "in"),
    Use("hang my coat", ("coat rack", "coat stand", "wardrobe"), "on"),
    Use("put my dirty laundry", ("laundry basket", "hamper"), "in"),
    Use("find something to read", ("bookshelf", "bookcase"), "in"),
    Use("iron a shirt", ("ironing board",), "on"),
    Use("work on a computer", ("desk",), "at"),
    Use("check my weight", ("scale", "bathroom scale"), "on"),
    Use("go for a run without leaving home", ("treadmill",), "on"),
    Use("do some cycling without leaving home", ("exercise bike",), "on"),
    Use("lay a baby down to sleep", ("crib", "cot"), "in"),
    Use("warm my feet by a fire", ("fireplace",), "at"),
    Use("watch television", ("tv", "television"), "on"),
    Use("put my wet shoes", ("shoe rack",), "on"),
    Use("keep milk cold", ("fridge", "refrigerator"), "in"),
    Use("bake a cake", ("oven", "stove"), "in"),
    Use("relax in an armchair", ("armchair",), "in"),
    Use("work out", ("treadmill", "exercise bike", "weight bench", "dumbbells", "yoga mat"), "on"),
    Use("play with toys", ("toy box", "toy chest", "dollhouse"), "at"),
    Use("practise the guitar", ("guitar",), "with"),
)


class Hint(NamedTuple):
    """What things tell about the people who own them."""

    question: str
    answers: tuple[tuple[str, tuple[str, ...]], ...]  # answer -> kinds that give it away


HINTS = (
    Hint("What kind of pet do I have?", (
        ("a cat", ("cat tree", "litter box", "cat", "cat bed", "scratching post")),
        ("a dog", ("dog bed", "dog", "dog bowl", "dog house")),
        ("a fish", ("aquarium", "fish tank", "fish bowl")),
        ("a bird", ("bird cage", "birdcage")))),
    Hint("What instrument does someone here play?", (
        ("the piano", ("piano", "upright piano", "grand piano", "keyboard piano")), ("the guitar", ("guitar",)),
        ("the violin", ("violin",)), ("the drums", ("drum", "drums", "drum kit")), ("the cello", ("cello",)))),
    Hint("What sport does someone here do?", (
        ("running", ("treadmill",)), ("cycling", ("exercise bike", "bicycle", "bike")),
        ("basketball", ("basketball",)), ("football", ("football", "soccer ball")),
        ("weight training", ("dumbbell", "dumbbells", "barbell", "weight bench")), ("yoga", ("yoga mat",)),
        ("skateboarding", ("skateboard",)), ("tennis", ("tennis racket",)))),
    Hint("What hobby can be guessed from what stands here?", (
        ("painting", ("easel",)), ("astronomy", ("telescope",)), ("photography", ("camera", "tripod")),
        ("chess", ("chess board", "chess set", "chessboard")), ("sewing", ("sewing machine",)))),
)
