# SPDX-License-Identifier: Apache-2.0
"""pandas 2 as notebooks of TFX's time know it: what pandas 1.5 said of the same calls."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys, warnings
import {library}
assert "pandas" not in sys.modules
import pandas as pd
warnings.simplefilter("error")
frame = pd.DataFrame({{"a": [1, 2], "b": ["x", "y"]}}, index=[5, 6])
print({call})
"""


def run(call, library="tfx"):
    code = PROGRAM.format(library=library, call=call)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("frame.append(frame).index.tolist()", "[5, 6, 5, 6]"),
        ("frame.append(frame, True).index.tolist()", "[0, 1, 2, 3]"),
        (
            "frame.append({'a': 3, 'c': 1}, ignore_index=True).to_dict('list')",
            "{'a': [1, 2, 3], 'b': ['x', 'y', nan], 'c': [nan, nan, 1.0]}",
        ),
        (
            "frame.append([pd.DataFrame({'c': [1], 'a': [3]}), frame], sort=True).columns.tolist()",
            "['a', 'b', 'c']",
        ),
        ("frame.append(pd.Series({'a': 3}, name=9)).index.tolist()", "[5, 6, 9]"),
        ("frame.a.append(frame.a, ignore_index=True).to_dict()", "{0: 1, 1: 2, 2: 1, 3: 2}"),
        ("[(name, column.tolist()) for name, column in frame.iteritems()]", "[('a', [1, 2]), "),
        ("list(frame.a.iteritems())", "[(5, 1), (6, 2)]"),
    ],
)
def test_a_frame_and_a_series_have_what_pandas_1_had(call, said):
    done = run(call)
    assert done.stdout.startswith(said), done.stderr


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("frame.append(frame, verify_integrity=True)", "ValueError: Indexes have overlapping"),
        ("frame.append({'a': 3})", "TypeError: Can only append a dict if ignore_index=True"),
        ("frame.append(pd.Series({'a': 3}))", "TypeError: Can only append a Series if ignore_"),
        ("frame.a.append(frame)", "TypeError: to_append should be a Series or list/tuple"),
    ],
)
def test_what_it_refused_it_refuses(call, said):
    assert run(call).stderr.splitlines()[-1].startswith(said)


def test_tfdv_gives_it_too_and_pandas_alone_does_not():
    given = run("frame.append(frame).shape", "tensorflow_data_validation")
    assert given.stdout == "(4, 2)\n", given.stderr
    assert "no attribute 'append'" in run("frame.append(frame)", "os").stderr
