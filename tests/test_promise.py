# SPDX-License-Identifier: Apache-2.0
import ast
import inspect

import pytest
from google.protobuf.message import Message

import stoker
from stoker.components import STEPS

IMPORT = """
import os, sys

finders, environ, path = list(sys.meta_path), dict(os.environ), list(sys.path)
hooks = list(sys.path_hooks)
import stoker

assert (sys.meta_path, dict(os.environ), sys.path) == (finders, environ, path)
assert sys.path_hooks == hooks
assert [name for name in sys.modules if name.startswith("stoker.")] == ["stoker.components"]
"""

TREE = ast.parse(inspect.getsource(stoker))


def names_seen_by_type_checkers() -> set[str]:
    (block,) = (node for node in TREE.body if isinstance(node, ast.If))
    imported = [alias for node in block.body for alias in getattr(node, "names", ())]
    declared = [node.target.id for node in block.body if isinstance(node, ast.AnnAssign)]
    names = {alias.asname or alias.name for alias in imported} | set(declared)
    return names - {"*"} | set(STEPS)  # tests/components compares STEPS with what they see there


def test_every_promised_name_is_what_type_checkers_see():
    assert set(stoker.__all__) == names_seen_by_type_checkers()


def test_importing_stoker_defines_names_and_does_nothing_else(run_python):
    run_python(IMPORT)


def test_the_promise_is_all_that_dir_shows():
    assert dir(stoker) == sorted(stoker.__all__)


@pytest.mark.parametrize("name", stoker.__all__)
def test_every_promised_name_is_there_and_documented(name):
    value = getattr(stoker, name)

    if inspect.isclass(value) and issubclass(value, Message):
        assert value.DESCRIPTOR.name == name  # documented in its .proto file
    else:
        assert value.__doc__


def test_a_name_that_is_not_promised_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        stoker.nothing  # noqa: B018
