# SPDX-License-Identifier: Apache-2.0
"""What tests of components use."""

from stoker.dsl import Channel
