# SPDX-License-Identifier: Apache-2.0
"""WHAT runs: channels, components and pipelines, declared without loading what they need.

What a module offers is in its `__all__`.
"""

from stoker.dsl.channel import *
from stoker.dsl.component import *
from stoker.dsl.conditions import *
from stoker.dsl.executor import *
from stoker.dsl.function_component import *
from stoker.dsl.loops import *
from stoker.dsl.older_names import *
from stoker.dsl.parameters import *
from stoker.dsl.pipeline import *
from stoker.dsl.placeholders import *
from stoker.dsl.user_code import *
