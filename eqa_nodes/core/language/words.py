"""Stand-in until the vocabulary lands."""
from functools import lru_cache
from eqa_nodes.core.language import naming, english, vocabulary
MATERIALS = frozenset("wood wooden metal steel plastic leather fabric cloth glass ceramic porcelain stone marble granite wicker paper cardboard rubber brick velvet cotton tile concrete".split())
_STATES = {"on":"on","off":"off","switched on":"on","turned on":"on","switched off":"off","turned off":"off","left on":"on","left off":"off","left open":"open","left running":"running","left closed":"closed","open":"open","close":"closed","turn on":"on","turn off":"off","switch on":"on","switch off":"off","turned":"","lights up":"on","shine":"on","shines":"on","give light":"on","filled up":"full","opened":"open","ajar":"open","closed":"closed","shut":"closed","drawn":"closed","lit":"lit","unlit":"unlit","burning":"lit","aflame":"lit","alight":"lit","glowing":"on","shining":"on","running":"running","dripping":"running","full":"full","filled":"full","empty":"empty","made":"made","unmade":"unmade","clean":"clean","dirty":"dirty","locked":"locked","unlocked":"unlocked","powered":"on","put out":"off","out":"off","make":"made","gushing":"running","flowing":"running","trickling":"running","blasting":"on","playing":"on","wide open":"open","hanging open":"open","closed up":"closed","powered on":"on", "powered off":"off","dark":"off","tidy":"made"}
def state_of(text): return _STATES.get(text, "")
@lru_cache(maxsize=1)
def known_names():
    from eqa_nodes.core.answerers.label import tables, rooms
    names=set()
    for line in english._SYNONYMS.strip().splitlines():
        for e in line.split("|"):
            names.add(english.singular(e.strip()))
    for t in (naming.GROUPS, naming.KEPT_IN):
        for k,v in t.items():
            names.add(k); names.update(english.singular(x) for x in v)
    for _,a,b in rooms._TABLE:
        names.update(english.singular(english.normalise(x)) for x in (*a,*b))
    for p in tables.PURPOSES: names.update(english.singular(english.normalise(x)) for x in p.kinds)
    for rows in tables.HINTS.values():
        for _,k in rows: names.update(k)
    bad={"on","off","closed","next to","above","under","in","color","gray","beige","metal","wood","fabric","leather","glass","ceramic","plastic","stone","purple","turquoise","on top of","upon","turned on","switched on","turned off","switched off","shut","over","below","beneath","underneath","inside","within","into","beside","by","near","colour","grey","cream","tan","steel","wooden","timber","cloth","textile","upholstery","porcelain","marble","granite","violet","teal","cyan","adjacent to","alongside","close to","hall","study","office","something to eat","something to drink","place to sit","something to sit on","something to read","something to wear","orange","art","device","gadget","weight","range","tv set","stainless steel","metallic","aluminium","aluminum","leathery","glassy","plasticky","throw","mat"}
    rooms_={n for n in names if __import__("eqa_nodes.core.language.rooms",fromlist=["is_room"]).is_room(n)}
    extra="television tv toilet loo mat shoe kick trainer looking glass looking-glass bin wardrobe door front door window curtain drape passage opening doorway clock tap range hood weight rack dumbbell rack piano hat vase candle mug plate jar bottle ball suitcase bucket broom ladder mirror towel cushion plant flower greenery bedside table chest of drawers pet bed doggy bed pot cooking pot teddy bear teddy book cactus bookcase worktop coffee maker washer tub bath washing machine lawn mower mower rucksack light ceiling light table lamp alarm clock umbrella stand printer picture frame photo spice rack knife block water picture lamp tap sink desk lamp hob cooker bog lavatory lav piano armchair settee entrance door exercise bike tread mill doormat soap dispenser water bottle"
    return frozenset((names|set())-bad-rooms_)|set("television,tv,toilet,loo,mat,shoe,shoes,kick,trainer,looking glass,bin,wardrobe,door,front door,entrance door,window,curtains,curtain,drape,passage,opening,doorway,clock,tap,piano,light,rug,bog,lavatory,lav,pot,teddy,mower,entrance,microwave,dishwasher".split(","))

_OPP={"on":"off","off":"on","open":"closed","closed":"open","full":"empty","empty":"full","made":"unmade","unmade":"made","lit":"unlit","unlit":"lit","running":"off","clean":"dirty","dirty":"clean","locked":"unlocked","unlocked":"locked"}
def opposite(s): return _OPP.get(s,"")
def purpose(text):
    from eqa_nodes.core.answerers.label.tables import purpose_of
    return purpose_of(text)

def room_with(kind):
    from eqa_nodes.core.answerers.label.rooms import rooms_of
    rooms = rooms_of(kind)
    best = max(rooms, key=rooms.get)
    return best if rooms[best] >= 0.5 else ""
