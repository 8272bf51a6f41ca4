# SPDX-License-Identifier: Apache-2.0
"""What keeps a step from running."""

from stoker.dsl.placeholders import Absent as SkipSignal
