"""What the comment beside a setting says, as text: the comment in the dataclass is the only description there is.

A comment ends the line of its field, or stands in the lines directly above it, or both: then they are read in this
order from top to bottom. Where the sources are absent (a package of byte code alone) there are no descriptions;
everything else works.
"""

from __future__ import annotations

import ast
import inspect
import io
import textwrap
import tokenize
from functools import cache


@cache
def descriptions(config: type) -> dict[str, str]:
    """Return {field: description} of a dataclass and the ones that it extends; what has no comment is not in it."""
    return {name: text for base in reversed(config.__mro__) if base is not object for name, text in _own(base).items()}


def _own(config: type) -> dict[str, str]:
    try:
        source = textwrap.dedent(inspect.getsource(config))
    except OSError:
        return {}
    comments = {token.start[0]: token.string.lstrip("# ")
                for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type == tokenize.COMMENT}
    alone = {line for line, text in enumerate(source.splitlines(), 1) if text.lstrip().startswith("#")}
    body = ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)  # a dataclass is a class
    result = {}
    for node in body.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            above: list[str] = []
            while node.lineno - 1 - len(above) in alone:
                above.insert(0, comments[node.lineno - 1 - len(above)])
            beside = comments.get(node.end_lineno or node.lineno, "")
            text = " ".join([*above, beside]).strip()
            if text:
                result[node.target.id] = text
    return result
