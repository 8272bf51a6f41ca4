# SPDX-License-Identifier: Apache-2.0
"""Beam's options where nothing runs on Beam: what they ask for is not done silently elsewhere."""

from typing import Any

from stoker.any_python.lines import say

_HERE = (None, "", "DirectRunner", "direct")


def say_where_it_runs(pipeline_options: Any) -> None:
    """Say that a runner of other machines is not asked, if the options name one."""
    options = pipeline_options.get_all_options() if pipeline_options is not None else {}
    if (runner := options.get("runner")) not in _HERE:
        say(f"{runner} is not used: Stoker computes this on this machine, in the call's process.")
