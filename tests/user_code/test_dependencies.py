# SPDX-License-Identifier: Apache-2.0
"""What of a pipeline file counts for one of its definitions: an edit elsewhere may be a hit."""

import contextlib
import re
import textwrap

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from stoker.user_code.dependencies import source_that_counts

FILE = """
import functools, os, sys
from dataclasses import dataclass
import neighbour
from neighbour import register
from tfx import v1 as tfx
from tfx.dsl.components.base import base_executor
from tfx.v1.dsl.components import OutputDict, Parameter, component

_ROOT = os.path.join(os.environ["HOME"], "taxi")
_WHERE = f"{_ROOT}/{os.getenv('NAME', 'me')}"
CONFIG = {"lr": 1}
NAMES = ["a"]
ALIAS = CONFIG

class Settings:
    rate = 1

SETTINGS = Settings()
STEPS = {}

def helper():
    return CONFIG["lr"]

@component
def step(number: Parameter[int]) -> OutputDict(result=float):
    '''What this does.'''
    return {"result": helper() * number * Settings.rate * len(NAMES)}

def other_helper(x=3):
    return x

@component
def other_step(number: Parameter[int]) -> OutputDict(result=float):
    return {"result": other_helper()}

@dataclass
class Other:
    name: str = "x"

class OtherExecutor(base_executor.BaseExecutor):
    def Do(self, input_dict, output_dict, exec_properties):
        other_helper()

def create_pipeline():
    return tfx.dsl.Pipeline("name", _ROOT, components=[step(number=1), other_step(number=2)])

if __name__ == "__main__":
    tfx.orchestration.LocalDagRunner().run(create_pipeline())
"""

BEFORE = source_that_counts(FILE, "step")


def counts(edited):
    return source_that_counts(edited, "step") != BEFORE


def test_the_definition_itself_and_what_it_uses_count():
    assert counts(FILE.replace("* number", "+ number"))
    assert counts(FILE.replace('{"lr": 1}', '{"lr": 2}'))
    assert counts(FILE.replace("rate = 1", "rate = 2"))
    assert counts(FILE.replace("def helper():\n", "def helper():\n    print()\n"))


@pytest.mark.parametrize(
    "edit",
    [
        ("return x", "return x + 1"),
        ("x=3", "x=4"),
        ('"result": other_helper()', '"result": 2'),
        ('"taxi"', '"bus"'),
        ('name: str = "x"', 'name: str = "y"'),
        ("        other_helper()", "        other_helper(2)"),
        ("step(number=1)", "step(number=7)"),
        (".run(create_pipeline())", ".run(create_pipeline(), force=['x'])"),
        ("'''What", "# a comment\n    '''What"),
        ("import functools, os, sys", "import functools, os, sys, time"),
        ("STEPS = {}", "STEPS = {}\nPATH = os.path.join(_ROOT, 'x')"),
        ("STEPS = {}", "STEPS = {}\ntry:\n    import json\nexcept ImportError:\n    json = None"),
        ("STEPS = {}", "STEPS = {}\nmade = other_step(number=1).with_id('a')"),
        ("STEPS = {}", "STEPS = {}\ngen = tfx.components.CsvExampleGen(input_base=_ROOT)"),
        ("STEPS = {}", "STEPS = {}\nif sys.platform == 'linux':\n    EXTRA = 1"),
        ("STEPS = {}", "STEPS = {}\n\n\n"),
        ("STEPS = {}", "STEPS   =   { }"),
    ],
)
def test_an_edit_elsewhere_does_not_count(edit):
    assert FILE.replace(*edit) != FILE
    assert not counts(FILE.replace(*edit))


@pytest.mark.parametrize(
    "line",
    [
        'CONFIG["lr"] = 2',
        'ALIAS["lr"] = 2',
        "SETTINGS.rate = 2",
        "Settings.rate = 2",
        'CONFIG.update({"lr": 2})',
        'CONFIG |= {"lr": 2}',
        'NAMES.append("b")',
        'NAMES += ["b"]',
        'del CONFIG["lr"]',
        'del Settings.rate\nSettings.rate = 3',
        'setattr(Settings, "rate", 2)',
        'globals()["CONFIG"] = {"lr": 2}',
        'vars()["CONFIG"] = {"lr": 2}',
        'os.environ["RATE"] = "2"',
        'os.environ.setdefault("RATE", "2")',
        'exec("CONFIG = 2")',
        "eval(\"CONFIG.update(lr=2)\")",
        "sys.modules[__name__].CONFIG = 2",
        "from constants import *",
        "import patches",
        "from neighbour import other",
        "neighbour.CONFIG = CONFIG",
        "neighbour.set_rate(2)",
        "os.path.join = None",
        "for name in NAMES:\n    CONFIG[name] = 1",
        "while NAMES:\n    NAMES.pop()",
        "with open('x') as file:\n    CONFIG['x'] = file.read()",
        "try:\n    CONFIG['x'] = 1\nexcept KeyError:\n    pass",
        "if sys.platform == 'linux':\n    CONFIG['x'] = 1",
        "@register\ndef registered(): pass",
        "@STEPS.setdefault\ndef registered(): pass",
        "@register\nclass Registered: pass",
        "class Registered(metaclass=neighbour.Meta): pass",
        "class Registered(neighbour.Base): pass",
        "class Registered:\n    CONFIG['x'] = 1",
        "class Registered:\n    name = register('x')",
        "def registered(x=CONFIG.pop('lr')): pass",
        "made = Settings()",
        "made = lambda x=NAMES.pop(): x",
        "[CONFIG.pop(name) for name in NAMES]",
        "value = CONFIG['grows if it is a defaultdict']",
        "value = (CONFIG := {})",
        "first, *rest = NAMES",
        "value = [*NAMES]",
        "value = 1 in NAMES",
        "class Base:\n    __init_subclass__ = register\nclass Registered(Base): pass",
        "value = NAMES | CONFIG",
        "helper = other_helper",
        "def helper():\n    return 3",
        "import other as helper",
        "(helper, x) = (1, 2)",
        "import random; random.seed(3)",
        "CONFIG: dict = {'lr': 2}",
        "del helper",
    ],
)  # fmt: skip
def test_a_line_that_may_change_what_the_definition_sees_counts(line):
    assert counts(FILE.replace("def helper():", f"{line}\n\ndef helper():"))


def test_what_a_line_that_counts_uses_counts_too():
    text = FILE + "\nCONFIG['lr'] = other_helper()\n"
    before = source_that_counts(text, "step")
    assert source_that_counts(text.replace("x=3", "x=4"), "step") != before


@pytest.mark.parametrize(
    "body",
    [
        "return globals()[name]",
        "import sys\n    return getattr(sys.modules[__name__], name)",
        "return eval(name)",
        "import inspect\n    return inspect.currentframe()",
        "return [one() for one in Settings.__subclasses__()]",
        "return __doc__",
        "from importlib import import_module\n    return import_module(__name__)",
    ],
)
def test_where_names_are_looked_up_in_other_ways_all_of_the_file_counts(body):
    text = FILE.replace("return CONFIG", f"{body}\n    return CONFIG")
    assert source_that_counts(text, "step") == text


@pytest.mark.parametrize(
    "text",
    [
        "step = ",
        "def other(): pass",
        "if __name__ == '__main__':\n    def step(): pass",
        "x = " + "(" * 5000,
    ],
)
def test_a_file_in_which_the_definition_is_not_found_counts_as_a_whole(text):
    assert source_that_counts(text, "step") == text


def test_names_in_strings_are_used_too():
    text = textwrap.dedent(
        """
        class Mine: pass
        RATE = 1
        def step(model: "InputArtifact[Mine]"):
            return getattr(lookup, "RATE")
        """
    )
    before = source_that_counts(text, "step")
    assert source_that_counts(text.replace("pass", "x = 1"), "step") != before
    assert source_that_counts(text.replace("RATE = 1", "RATE = 2"), "step") != before


def test_a_class_body_that_hides_a_name_still_uses_it():
    text = "rate = 1\nclass step:\n    rate = rate"
    before = source_that_counts(text, "step")
    assert source_that_counts(text.replace("rate = 1", "rate = 2"), "step") != before


STATE = """
config = {"x": 1}
names = ["a"]
class Settings: x = 1
def helper(): return 1
alias = config
"""
STEP = """
def step():
    return config, names, helper
"""
EXPRESSIONS = st.sampled_from(
    [
        *("1", "config", "names", "names.pop()", "helper()", "helper", "[*names]", "Settings()"),
        *("alias", "lambda: names.pop()", "{'x': names}", "config.get('y')", "1 in names"),
    ]
)
TEMPLATES = st.sampled_from(
    [
        *("{0} = {1}", "{0}: int = {1}", "{0}['x'] = {1}", "{0}.x = {1}", "{0} += [{1}]"),
        *("{0}.append({1})", "setattr({0}, 'x', {1})", "del {0}", "alias = {0}", "{1}"),
        *("globals()['{0}'] = {1}", "exec('{0} = 3')", "other, *rest = {0}", "other()"),
        *("class {0}:\n    x = {1}", "class {0}(Settings):\n    x = {1}"),
        *("def {0}(p={1}):\n    return {2}", "def other():\n    {0}['x'] = {1}"),
        *("@{0}\ndef other(): return {1}", "if {1}:\n    {0} = {2}"),
        *("for {0} in {1}:\n    alias['y'] = {2}", "try:\n    {0} = {1}\nfinally:\n    {0} = {2}"),
    ]
)
TARGETS = st.sampled_from(["config", "names", "Settings", "helper", "alias", "other"])
LINES = st.builds(str.format, TEMPLATES, TARGETS, EXPRESSIONS, EXPRESSIONS)


def run_step(lines):
    """What the step gives after all lines have been run; those that fail change nothing more."""
    scope = {}
    for text in (STATE, *lines, STEP):
        with contextlib.suppress(Exception):
            exec(text, scope)  # the program under test
    config, names, helper = scope["step"]()
    with contextlib.suppress(Exception):
        helper = helper()
    return re.sub(" at 0x[0-9a-f]+", "", repr((config, names, helper)))


@settings(max_examples=40, suppress_health_check=[HealthCheck.filter_too_much])
@given(lines=st.lists(LINES, min_size=1, max_size=4), other=LINES, data=st.data())
def test_where_the_source_is_the_same_a_fresh_run_gives_the_same(lines, other, data):
    place = data.draw(st.integers(0, len(lines) - 1))
    edited = [*lines[:place], other, *lines[place + 1 :]]
    before, after = (
        source_that_counts("\n".join([STATE, *text, STEP]), "step") for text in (lines, edited)
    )
    assume(before == after)
    with contextlib.suppress(NameError, TypeError, RecursionError):
        assert run_step(lines) == run_step(edited)
