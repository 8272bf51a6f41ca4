# SPDX-License-Identifier: Apache-2.0
"""What a store tells."""

from tfx.orchestration.portable.mlmd import execution_lib
