# SPDX-License-Identifier: Apache-2.0
"""Files."""

from tfx.v1.dsl.io import fileio
