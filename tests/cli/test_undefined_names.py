# SPDX-License-Identifier: Apache-2.0
"""Names that nothing in a file gives a value: told, and nothing told that is there."""

import ast

import pytest

from stoker.cli.checking.notebooks import _join
from stoker.cli.checking.undefined import find_undefined


def find(text, notebook=None):
    found = find_undefined(ast.parse(text), text, notebook)
    return [f"{node.lineno} {node.id}" for node in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("print(nothing)\nnothing", ["1 nothing"]),
        ("import os\ndef f(a):\n    return a + b + os.sep", ["3 b"]),
        ("def f():\n    local = 1\ndef g():\n    return local", ["4 local"]),
        ("class A:\n    x = y", ["2 y"]),
        ("[one for one in many]", ["1 many"]),
        ("if True:\n    x = 1\nelse:\n    y = x\nz = w", ["5 w"]),
        ("@decorate\ndef f(a=default): pass", ["1 decorate", "2 default"]),
        ("import tensorflow as tf\nt.constant(1)", ["2 t"]),
        ("print(make(1), make(2))\ndef make(x): ...\nmake(3)", ["1 make"]),
        ("if made: x = 1\nmade = True", ["1 made"]),
    ],
)
def test_a_name_without_a_value_is_found(text, found):
    assert sorted(find(text)) == sorted(found)


@pytest.mark.parametrize(
    "text",
    [
        "import a.b, c as d\nfrom e import f as g\na.b; d; g",
        "def f():\n    global made\n    made = 1\nprint(made)",
        "def outer():\n    x = 1\n    def inner():\n        nonlocal x\n        return x, outer",
        "print([a * b for a in range(3) for b in range(a)], {k: v for k, v in {}.items()})",
        "for i, (j, *k) in []: print(i, j, k)\nwith open('x') as file: file",
        "try:\n    unicode\nexcept NameError:\n    unicode = str",
        "try:\n    x = 1\nexcept ValueError as error:\n    print(error)",
        "if (n := 3) > 2: print(n)\nlambda a, *b, c=1, **d: (a, b, c, d)",
        "from tfx import *\nanything",
        "globals()['x'] = 1\nx",
        "def f(a: Later) -> 'Other': pass\nname: Never = 3",
        "class A:\n    x = 1\n    def f(self):\n        return __class__, self.x\n    y = x",
        "print(__file__, __name__, __doc__, len, Exception)",
        "match []:\n    case [a, *rest]: print(a, rest)\n    case {'a': a, **b}: print(a, b)",
        "async def f():\n    async for x in g(): yield x\nasync def g(): yield",
        "del gone\ngone = 1",
        "def f():\n    return later\nlater = f",
        "call = lambda: later + 1\nlater = 1",
        "def f():\n    global made\n    made = 1\nf()\nprint(made)\nmade = 2",
        "for i in range(2):\n    if i: print(x)\n    x = i",
        "print(len('x'))\nlen = 3",
        "try:\n    x\nexcept NameError:\n    pass\nx = 1",
    ],
)
def test_what_has_a_value_or_may_have_one_is_not(text):
    assert find(text) == []


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["x = 1", "print(x)\ndisplay(_)"], []),
        (["print(y)"], ["1 y"]),
        (["files = !ls", "print(files)"], []),
        (["%run other.py", "print(y)"], []),
        (["%%capture said\nprint(1)", "print(said)"], []),
        (["this is no python", "print(y)"], []),
    ],
)
def test_cells_share_their_names_and_magics_may_make_some(cells, found):
    notebook = _join(cells)
    assert find(notebook.text, notebook) == found
