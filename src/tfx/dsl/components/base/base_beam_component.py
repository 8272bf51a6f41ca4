# SPDX-License-Identifier: Apache-2.0
"""The class of components that run Beam."""

from stoker.dsl import BaseComponent as BaseBeamComponent
