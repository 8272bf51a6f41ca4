# SPDX-License-Identifier: Apache-2.0
"""Pusher: a model in, a new version in the folder of a server."""

from stoker.stand_ins.tfx.missing import find_part

__getattr__ = find_part(__name__)
