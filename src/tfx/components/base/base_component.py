# SPDX-License-Identifier: Apache-2.0
"""The class of components."""

from stoker.dsl import BaseComponent, ChannelParameter, ComponentSpec, ExecutionParameter
