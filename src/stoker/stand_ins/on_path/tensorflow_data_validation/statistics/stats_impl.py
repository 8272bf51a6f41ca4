# SPDX-License-Identifier: Apache-2.0
"""How statistics are made: of what is in memory, and by Apache Beam where that is installed."""

from typing import Any

from stoker.stand_ins.tfdv.generate import count_in_memory as generate_statistics_in_memory


def __getattr__(name: str) -> Any:
    if name != "GenerateStatisticsImpl":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from stoker.stand_ins.tfdv.transforms import GenerateStatistics

    return GenerateStatistics
