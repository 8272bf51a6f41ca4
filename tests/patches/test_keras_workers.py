# SPDX-License-Identifier: Apache-2.0
"""Keras 3 is changed only in versions that it was made for; the change itself: tests/compat."""

import pytest

from stoker.errors import StokerError
from stoker.patches.keras import _check_fits, _repeat
from stoker.patches.registry import PATCHES

TRIED = PATCHES["keras-workers"].tried


class AsExpected:
    def _maybe_symbolic_build(self, iterator=None, data_batch=None): ...
    def _make_function(self, step_function): ...


class Rewritten(AsExpected):
    def _make_function(self, step_function, unroll): ...


def check(version, trainer_class=AsExpected):
    _check_fits(version, trainer_class)


def test_a_version_that_was_tried_is_taken():
    check(f"{TRIED}.1")


@pytest.mark.parametrize("version", ["3.0.5", "3.99.0", "4.0.0"])
def test_other_versions_are_refused_with_what_to_do(version):
    with pytest.raises(StokerError, match=rf"this is {version}.*Trainer\(keras=2\)"):
        check(version)


def test_functions_that_changed_are_refused_too():
    with pytest.raises(StokerError, match=r"_make_function takes.*Install one of those"):
        check(f"{TRIED}.9", Rewritten)


@pytest.mark.tf
def test_several_steps_end_with_the_data():
    batches = iter(range(6))
    assert _repeat(next, batches, 4) == 3
    assert _repeat(next, batches, 4) == 5
    with pytest.raises(StopIteration):
        _repeat(next, batches, 4)
