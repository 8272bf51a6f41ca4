# SPDX-License-Identifier: Apache-2.0
"""Beam's flags: where a pipeline of a step's runs."""

import pytest

from stoker.dsl.beam import parse_flags


@pytest.mark.parametrize(
    ("flags", "names_a_runner", "leaves_this_process"),
    [
        ([], False, False),
        (["--direct_num_workers=0"], False, False),
        (["--runner=DirectRunner", "--direct_running_mode=multi_threading"], False, False),
        (["--direct_running_mode=multi_processing"], False, True),
        (["--runner=FnApiRunner"], True, False),
        (["--runner", "apache_beam.runners.direct.DirectRunner"], False, False),
        (["--runner=PrismRunner"], True, True),
        (["--runner=FlinkRunner", "--flink_master=local"], True, True),
    ],
)
def test_a_pipeline_stays_in_this_process_unless_a_flag_sends_it_away(
    flags, names_a_runner, leaves_this_process
):
    found = parse_flags(flags)
    assert found.names_a_runner is names_a_runner
    assert found.leaves_this_process is leaves_this_process


def test_a_flag_that_cannot_be_read_is_named():
    with pytest.raises(ValueError, match=r"beam_pipeline_args .*direct_num_workers.*many"):
        parse_flags(["--direct_num_workers=many"])
