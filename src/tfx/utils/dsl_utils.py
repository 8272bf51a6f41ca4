# SPDX-License-Identifier: Apache-2.0
"""Files for an ExampleGen, as old pipelines gave them."""

from stoker.stand_ins.tfx.dsl_utils import *
