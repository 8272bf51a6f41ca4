# SPDX-License-Identifier: Apache-2.0
"""Values that are known only when a pipeline runs."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.dsl.placeholders import ArtifactPlaceholder as ChannelWrappedPlaceholder
from tfx.v1.dsl.placeholders import *

__getattr__ = find_part(__name__)
