"""What sros2 makes of a policy: the rules of its schema (version 0.2.0), and the names on the wire that it allows."""

from __future__ import annotations

from typing import NamedTuple
from xml.etree import ElementTree

RIGHTS = {"topics": {"publish", "subscribe"}, "services": {"reply", "request"}, "actions": {"execute", "call"}}
GOAL = ("send_goal", "cancel_goal", "get_result")  # hidden services of an action; its topics: feedback, status


class Wires(NamedTuple):
    """Absolute names that one node may use: topics that it publishes and hears, services that it serves and calls."""

    publishers: set[str]
    subscribers: set[str]
    servers: set[str]
    clients: set[str]


def check_schema(root: ElementTree.Element) -> None:
    """Fail where the schema would: elements, their order and attributes, and the words of rights."""
    assert (root.tag, root.attrib, [c.tag for c in root]) == ("policy", {"version": "0.2.0"}, ["enclaves"])
    assert len(root[0]) and not root[0].attrib
    for enclave in root[0]:
        assert enclave.tag == "enclave" and set(enclave.attrib) == {"path"} and enclave.attrib["path"].startswith("/")
        assert [c.tag for c in enclave] == ["profiles"] and len(enclave[0]) and not enclave[0].attrib
        for profile in enclave[0]:
            assert profile.tag == "profile" and set(profile.attrib) == {"ns", "node"}
            for group in profile:
                assert group.attrib and set(group.attrib) <= RIGHTS[group.tag]
                assert set(group.attrib.values()) == {"ALLOW"}
                assert len(group) and all(item.tag == group.tag[:-1] and item.text and not len(item) for item in group)


def allowed(root: ElementTree.Element) -> dict[str, Wires]:
    """Return what each node (by its full name, in the first enclave that has it) may use."""
    found: dict[str, Wires] = {}
    for profile in root.iter("profile"):
        ns, node = profile.attrib["ns"].rstrip("/"), profile.attrib["node"]
        names = {right: {_absolute(item.text or "", ns, node) for group in profile if right in group.attrib
                         for item in group} for rights in RIGHTS.values() for right in rights}
        hidden = {right: {f"{name}/_action/{part}" for name in names[right] for part in parts}
                  for right, parts in (("execute", GOAL), ("call", GOAL))}
        told = {right: {f"{name}/_action/{part}" for name in names[right] for part in ("feedback", "status")}
                for right in ("execute", "call")}
        found.setdefault(f"{ns}/{node}", Wires(
            names["publish"] | told["execute"], names["subscribe"] | told["call"],
            names["reply"] | hidden["execute"], names["request"] | hidden["call"]))
    return found


def _absolute(name: str, ns: str, node: str) -> str:
    if name.startswith("/"):
        return name
    return f"{ns}/{node}{name[1:]}" if name.startswith("~") else f"{ns}/{name}"
