# SPDX-License-Identifier: Apache-2.0
"""The tables of components."""

from stoker.dsl import ChannelParameter, ComponentSpec, ExecutionParameter
