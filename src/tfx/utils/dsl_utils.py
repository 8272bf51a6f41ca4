# SPDX-License-Identifier: Apache-2.0
"""Files for an ExampleGen, as old pipelines gave them."""

from stoker.compat.dsl_utils import *
