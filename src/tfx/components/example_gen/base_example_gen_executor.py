# SPDX-License-Identifier: Apache-2.0
"""The executor of ExampleGens that read with Beam."""

from stoker.components.example_gen.beam_executor import (
    BaseExampleGenExecutor,
    FILE_NAME as DEFAULT_FILE_NAME,
    INPUT_KEY,
    choose_split as _PartitionFn,
    make_partition_key as _GeneratePartitionKey,
    write_split as _WriteSplit,
)
from stoker.stand_ins.tfx.component_keys import EXAMPLES_KEY
