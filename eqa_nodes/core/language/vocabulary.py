"""Correctly spelled words: names of household objects, and similar words with another meaning."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Things, rooms, looks and states at home, in the singular: what a slip of the keys was probably meant for.
HOUSEHOLD = _words("""
alarm apple appliance aquarium armchair attic backpack bag balcony ball banana basement basin basket basketball
bathroom bathtub bear bed bedroom bedside bedspread beer beige bench bicycle bike bin bird black blanket blind block
blocks blue board boiler book bookcase bookshelf boot bottle bowl box bread briefcase broom brown bucket bulb butter
cabinet cactus cage cake calendar camera can candle car cardboard carpet carrot cat ceiling cellar ceramic cereal
chair chandelier charger cheese children chimney clean cleaner clock close closed closet coat coffee color colour
computer console control cooker corridor cot couch counter cradle cream crib crockery cup cupboard curtain cushion
cutlery cutting desk detergent dining dirty dish dishwasher dispenser display dog doll dollhouse door doormat doorway
drawer drawn dresser drill drink drum dryer dumbbell duster duvet egg electronics empty entryway equipment exercise
fabric fan faucet filing fireplace fish floor flour flower food football fork foyer frame freezer fridge fruit full
furniture garage garbage gate glass globe glove gold golden grape gray green grey guest guitar gym hallway hammer
hamper handbag handle hat heater helmet honey hook houseplant instrument iron ironing island jacket jar jug juice
kettle kettlebell key keyboard kid kitchen knife ladder lamp lantern laptop laundry lavender lawn leather lemon letter
library light lit litter living lock locked lounge loveseat lowered luggage machine made magazine main maker maroon
master mat material mattress medicine metal microwave milk mint mirror monitor mop mower mug navy newspaper night
nightstand notebook nursery office oil olive open opened orange ottoman oven painting pan pantry paper parcel pasta
peach pear pencil pepper pet phone photo photograph piano picture pillow pink pizza plant plastic plate plug poster
pot potato potted printer punching purple purse puzzle rack racket radiator radio railing raised reading red
refrigerator remote restroom rice room rubbish rug running salt saucer scale scarf scooter screen screwdriver seat
second settee sewing sheet shelf shoe shower shut side sideboard silver sink skate slipper smartphone snack soap
socket sofa speaker spice sponge spoon sport staircase stairs stand stool storage stove study sugar suitcase switch
switched table tablet tableware tea teal teaspoon teddy telephone television telly tennis thermostat third tire
toaster toilet tomato tool toolbox toothbrush toothpaste towel toy train trash tray treadmill tree turn turned
turquoise umbrella unlit unlocked unmade vacuum vase vegetable vinegar violet violin wall wallet wardrobe washer watch
water weight white whiteboard window wine wire wood wooden workbench workout worktop yellow yoga
""")

# States of things in a house, as alternatives of a regular expression.
STATES = ("on|off|open|opened|closed|shut|running|lit|unlit|out|made|unmade|full|empty|clean|dirty|raised|lowered|"
          "drawn|locked|unlocked")

# What carries a question, whatever it is about: a slip of one of these is mended, too.
ASKING = _words("""
according actually afternoon already altogether another answer anybody anymore anyone anything anywhere around because
before behind belong between checking cheers contain contains could count currently different distance electricity
energy enough evening everything exactly excuse fewer forgot forgotten hanging happen hello hidden identical kindly
leave located location looking lying maybe measurement misplaced missing moment morning nearer nearest nothing number
other perhaps person placed please possible possibly present printed probably properly question quickly really
remaining remember right roughly searching several should similar smaller somebody someone something somewhere standing
still stored thank thanks their there these thing things think those through together tonight total under wanted
wasted wasting whereabouts whether which without wonder wondering would written
""")

# Well spelled and never mended, though like a word above; and what is asked about that no house here has.
OTHER = _words("""
alike apart bigger biggest buddy called carried cider clear clearly coloured colored combined differ fewest filled
higher inscription larger largest least longer lounger lower matching matcha millimetre millimeter offered opening
overall pardon passes pattern planter shaver shorter smallest squeeze taken taller tallest title typed versus wicker
wider
centimetre centimeter clearance cm deep depth dimension distance far fit foot gap height inch length long measurement
meter metre mm size space tall thick thickness wheelchair wide width
able about above accordion acoustic across actually adapter adults after afternoon again against age air airplane all
along already also always among amount anchor and angle ankle another answer ant any anybody anymore anyone anything
anywhere apartment appearance around arrow asap ash ashes aside ask asked at ate away axe baby back bad bag bake ball
balloon bandage basket bat bathing battery battle beach bear beard because bed bee beer before began begin behind
believe bell belong belongs below belt bench beside best better between beyond bib bid big bin binoculars bird
birdcage biscuit bitten black bladder blank block board boaster boat body boil bolt book books boot boots border bore
both bottle bottom bought bow bowel bowl box boxing boy brain brand bread break breakfast breathing breeze brew brick
bridge bright bring broad broke broken brook brother brought brush btw bucket bug buggy build built bunch burn bus but
butterfly button buy by cabin cabinets cabins cable came camp can candle candy cane canoe cap capital car card care
carry cart carton cartoon casket cat catch cattle cello central certain chain chalk chance change changed charm chart
check checking cheers chess chessboard chicken child chocolate choir chop cigarette circle city clam clamp clan class
clean cleaned cleaning click climb clip cloak clock close closer closest closet cloth cloud clue coach coast coaster
coat cold collect college colourful colours comb come compass concrete cone consist console contain contains contract
control controls cook cooker cookie cookies cool cooler coolers cooling cop cord corn corner cost cosy cot cottage
cotton couch cough count counted country counts couple courage court cover cow crab crack cracked cracker crackers
cradle crayon crib crop crown crutch cube cup curious current currently curtail curtain cut cute cycle cycling dad
damp dark date day dear deck decks deer desert desk dessert diaper different dine dinner dirt disappear disappeared
disc dishes disk do dock docks document dolphin done donkey donor door down dragon drain drank draw dress drink drive
drone drop drove dry duck ducks during dusk dust each ear early earphones earth easel eat either elder electricity
elephant else emptied empty end energy enough envelope eraser erm espresso even evening ever every everyone everything
everywhere exactly excuse exist eye fable face fair father feather feed fence fetch few fight figure file fill film
find fine finish fire first fishing fix flag flashes flat flock floor flour flow flower flute foil folder fool foot
football for forest forget forgot forgotten fork form fort found fountain fox freeze fresh fridge friend frog from
front gable gain game garden gas gave get gift giraffe give glass globe gloss glove glue go goat goes golf gone good
got grain grand grandfather granite grass great guest guilt guitar gum gun hair hall hallo halls ham hammock hamster
hand handle hang hanging happen happened hard harp hat head headphones hear heard heat heavy height helicopter hello
help her here hers hey hi hid hidden hide hiding high hippo hire his hit hmm hobby hold hole home homework honey hood
hook horn horse hose hot hour house hug hullo human hung idea if in inform insect into iron item items jam jeans job
jog journey joy joystick jug just keep kept kettle key keys kid kind kindly king kit kitchenette kitchens kitten knew
knife knit know label labels ladder lake lamb lander larder large lashes last late later launch lay leading leash
leather leave leaving left leftovers lens less let lie lift light lighter lighting lightning like limp line lion
lipstick list listed listen lists little live lives living loading locate located location lock locker lockers long
look looker looking looks lose lost loud love low lump lunch lying made main make man many map marble march marker
match mate mattress maybe meal meat medal medicine men mend mental meter metre metres microphone microscope middle
might mind mine minor minute mirror misplaced missing mistress mitten mix mobile model modem mom moment money monkey
month moon moose mop more morning most mother motorcycle mountain mouse mouth move moved movie mow much mud mug mum
muscle muscles music nail name nap napkin near nearer nearest need needle neighbor neighbour neither nest never new
news next nice night nine no noble nobody noise none noose nor nose not nothing novel nowhere number nut object
objects ocean odor of off often okay old older on once only onto open or order other ours out over owl own owner owns
ox pacifier pack paid pain paint painter painting pan panel panels pant pants paper papers parent park parked parlour
parrot party passport pat patch pay peach pedal pedals pen pencil pendant pens people pepper per perch perfume perhaps
person persons petal petals phone pick pig pill pillow pilot pin pine pink pint pistol pit pitch place placed places
placing plaid plain plan plane planet plank plant plaster plate play player plaza please pliers pocket pockets point
pointer pointing pole polish politics pool porch pork position possess possible possibly post poster pot potty pouch
pour power practise pram prayer precisely present press price print printer printing probably prone proper properly
pull punch purple push put quest question quick quickly quiet quilt quite rabbit rain rake ran rat rate rather rattle
razor reach read reading really recall relax remaining remember remind repair rest ribbon ride ridge right ring river
roast roaster robot rock rocket rocks rode role roller rookie roots rope router rug rule ruler run said same sample
sand sandbox saw say saying school scissors scratching screw sculpture sea search searching second see seen self sell
settle shade shadow shampoo shape share shark sharp sheep sheets shelf shell shells shelter shield shingle ship shirt
shop short shorts shovel show shower side sight sign silk simple since single sink sister sit sitar six size
skateboard skirt sky sleek sleep sleet slept slide slower small smell smooth snake snow so soak soccer sock socks soda
sofas soft sold some somebody someone something somewhere song soon sorry sort sound soup speak spider spool spoon
sport spot spots spring square stain stair stairway stamp stand stapler star stare start state statue status stave
stay steam stem step still stink stitches stone stop store stored story stove strap straw street strength string
stripe stroller stuff style submarine such suit sun supper sweater sweep sweets swing switches sword syringe tabled
tables tablet take tale talk tall tank tape taxi teeth telescope tell telling tent test text textile than thank thanks
that their them then there they thin thing think third this thought thread through throughout throw ticket tickets
tidy tie tiger tight tightening tile time times tingle tire tissue to toast toaster today toddler told tomorrow
tonight too took tool tooth top torch torches total touch toward towards towel tower toy train tram travel tray
triangle trip tripod trousers trowel truck trumpet tube tug turkey turtle twice type uncle under unicorn unlike until
up upon upright use used usual usually vain value very vest via vine voice vowel wait waiter wake walk wall wander
want wanted war ward warm wash washing waste wasted wasting watch water watering way wear weather week weigh weight
welcome well went were west wet whale wheelchair where whereabouts whether while whole whose wide widow willow wind
window wine wing wink winnow winter wire wish wishes witch with within without woman women wonder wondering wood wool
word wore work works world worm wrap wrench wrinkles write writer writing wrote yam yard yarn year yes yesterday yet
yours zebra zip
""")
