# SPDX-License-Identifier: Apache-2.0
"""Every step says what it takes, and editors see every step."""

import ast
import inspect
import re

import pytest

from stoker import InteractiveContext, LocalDagRunner, Pipeline, components
from stoker.components.manual_node import ManualNode

STEPS = [getattr(components, name) for name in components.STEPS]


@pytest.mark.parametrize("step", [*STEPS, ManualNode, Pipeline, LocalDagRunner, InteractiveContext])
def test_every_argument_is_described_where_help_shows_it(step):
    _, _, described = (inspect.getdoc(step.__init__) or "").partition("Args:\n")
    names = re.findall(r"^    (\w+): \S", described, re.MULTILINE)

    assert names == list(inspect.signature(step).parameters)


@pytest.mark.parametrize("step", STEPS)
def test_a_step_says_what_it_does(step):
    assert step.__doc__


def test_type_checkers_see_the_steps_of_the_table():
    tree = ast.parse(inspect.getsource(components))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {node.names[0].asname: node.module for node in block.body}

    assert seen == {name: f"stoker.components.{home}" for name, home in components.STEPS.items()}


def test_a_name_that_is_no_step_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Trianer'"):
        components.Trianer  # noqa: B018
