# SPDX-License-Identifier: Apache-2.0
import os
from pathlib import Path

import pytest

KEPT = Path(__file__).with_name("beam_answers")


@pytest.fixture(params=["kept", pytest.param("asked", marks=pytest.mark.envs)])
def beam(request, tmp_path):
    """What Beam makes of a function and batches: what it once answered, or what it answers now.

    With STOKER_TEST_KEEP=1 an answer of now is kept in place of the old one.
    """
    from engine_and_beam import keep_answer, read_answer, run_on_beam

    def answer(function, batches, **how):
        kept = KEPT / function.__name__
        if request.param == "kept":
            return read_answer(kept)
        asked = run_on_beam(function, batches, tmp_path, **how)
        if os.environ.get("STOKER_TEST_KEEP"):
            keep_answer(*asked, kept)
        return asked

    return answer
