"""What things are for, in the words of every day."""

from __future__ import annotations

import pytest

from eqa_nodes.core.language.english import singular
from eqa_nodes.core.language.naming import by_head, known_names
from eqa_nodes.core.language.uses import HINTS, OFFERS, PURPOSES, SEATS, SIGNS, purpose_of, rooms_of
from tests.fixtures.house_kinds import KINDS

# what somebody wants to do | what comes to mind first
_WANTED = """
pee | toilet
wash my hands | sink
soak in hot water | bathtub
have a quick shower | shower
dry my hands | towel
wipe my bottom | toilet paper
step on after a bath | bath mat
get some soap | soap dispenser
stand my toothbrush in | toothbrush cup
weigh yourself | bathroom scale
see if you have put on pounds | bathroom scale
keep shampoo on | bathroom shelf
gather odds and ends | basket
wear on my feet | shoes
carry school books | backpack
pack clothes for a holiday | suitcase
ship a parcel | cardboard box
keep jam in | jar
eat for breakfast with milk | cereal box
wear on my head | hat
perch on | stool
decorate the wall | painting
see how I look | mirror
check my lipstick | mirror
water the flowers | watering can
wipe my muddy boots | doormat
draw a plan for all to see | whiteboard
find out the date | calendar
knead dough | kitchen counter
rinse vegetables | kitchen sink
bake a cake | oven
fry an egg | stove
clean dirty plates | dishwasher
keep milk cold | refrigerator
put away cups and plates | wall cabinet
sucks up the frying fumes | range hood
throw away rubbish | trash can
store a bottle of wine | wine rack
feed a baby | high chair
read without the ceiling light | floor lamp
wash clothes | washing machine
dry my clothes | dryer
hang wet washing | drying rack
put dirty clothes | laundry basket
press shirts with | iron
iron a shirt | ironing board
remove a stain | detergent bottle
carry water | bucket
keep the sun out | curtains
let fresh air in | window
see who is at the door | door
sit down | sofa
lie down for a nap | bed
rest my legs | ottoman
sit at the desk | office chair
tie my laces | bench
sleep on | bed
eat dinner | dining table
have lunch with the family | dining table
drop my keys | console table
work on a computer | desk
rest my head | cushion
type a letter | laptop
send an email | laptop
print a letter | printer
find a country | globe
countries on it | globe
gets you up in the morning | alarm clock
wake up early | alarm clock
read a bedtime story | book
put family photos | picture frame
put flowers in | vase
lit a romantic dinner flame | candle
ride to work | bicycle
go for a run | treadmill
cycle indoors | exercise bike
lift weights | weight bench
lift dumbbells | dumbbell rack
stretch and do yoga | yoga mat
bounce on | exercise ball
practise boxing | punching bag
hit something when angry | punching bag
sip water at the gym | water bottle
find something to read | bookshelf
watch a film | television
watch the news | television
put socks and underwear | dresser
put my glass beside the bed | nightstand
hang my suits | wardrobe
file some papers | filing cabinet
show my china collection | display cabinet
play the piano | piano
burn logs | fireplace
warm up the room | fireplace
listen to music | radio
play music | speaker
fish live in | aquarium
warm up leftovers | microwave
toast bread | toaster
heat water | kettle
brews my morning espresso | coffee machine
keep fruit | fruit bowl
salt and pepper | spice rack
stick knives in | knife block
cut bread | knife block
cook soup in | cooking pot
drink coffee out of | mug
drink my tea out of | mug
serve food on | plate
cuddle in bed | teddy bear
put away toys | toy box
build a tower | building blocks
kick and catch | ball
strum | guitar
let my dog sleep | pet bed
repair a broken chair | workbench
find a screwdriver | toolbox
store tins of food | pantry shelf
hang up a shirt | clothes rack
put my wet shoes | shoe rack
hang coats | coat rack
reach something high up | ladder
change a bulb | ladder
change a flat tire | tire
cool the air | fan
clean the floor | vacuum cleaner
sweep | broom
sweep the floor | broom
cut the grass | lawn mower
cut grass with | lawn mower
keep rain off | umbrella
keep dry in the rain | umbrella
put my wet umbrella | umbrella stand
walk the dog | dog leash
tell the time | clock
smooth a shirt | iron
make coffee | coffee machine
make music | piano
pack for a journey | suitcase
collect dirty laundry | laundry basket
check my weight | bathroom scale
read the news | newspaper
"""


@pytest.mark.parametrize(("text", "kind"), [row.split(" | ") for row in _WANTED.strip().splitlines()])
def test_what_comes_to_mind_first(text: str, kind: str) -> None:
    purpose, fitted = purpose_of(text)
    assert purpose is not None and fitted > 0
    assert purpose.kinds[0] == kind or by_head(purpose.kinds[0], kind)


def test_every_kind_of_the_house_is_for_something() -> None:
    made_for = {kind for purpose in PURPOSES for kind in purpose.kinds}
    assert {kind for kind in KINDS if not any(kind == other or by_head(kind, other) for other in made_for)} == set()


def test_what_fits_everything_is_no_evidence() -> None:
    assert purpose_of("zzz") == purpose_of("make something") == purpose_of("put it") == purpose_of("") == (None, 0)


def test_more_words_fit_better() -> None:
    assert purpose_of("wash my dirty clothes")[1] > purpose_of("wash")[1] > 0


def test_what_is_named_is_known() -> None:
    named = {*SEATS, *(kind for kinds in (*SIGNS.values(), *OFFERS.values()) for kind in kinds),
             *(kind for answers in HINTS.values() for _, kinds in answers for kind in kinds)}
    assert {singular(name) for name in named} <= known_names()
    assert SIGNS["baby"] == SIGNS["child"]


def test_usual_rooms() -> None:
    assert max(rooms_of("bathtub").items(), key=lambda pair: pair[1]) == ("bathroom", 1.0)
    assert sum(rooms_of("wine rack").values()) == pytest.approx(1)
    assert rooms_of("unicorn") == rooms_of("")
