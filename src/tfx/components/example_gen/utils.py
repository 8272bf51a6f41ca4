# SPDX-License-Identifier: Apache-2.0
"""What ExampleGens of users' own are made with."""

from stoker.components.example_gen.configs import (
    make_default_input_config,
    make_default_output_config,
    name_output_splits as generate_output_split_names,
)
from stoker.components.example_gen.spans import fill_in_query as get_query_for_span
from stoker.components.example_gen.tools import *
from stoker.stand_ins.tfx.component_keys import (
    CUSTOM_CONFIG_KEY,
    EXAMPLES_KEY,
    INPUT_BASE_KEY,
    INPUT_CONFIG_KEY,
    OUTPUT_CONFIG_KEY,
    OUTPUT_DATA_FORMAT_KEY,
    OUTPUT_FILE_FORMAT_KEY,
    RANGE_CONFIG_KEY,
)
