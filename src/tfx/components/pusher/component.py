# SPDX-License-Identifier: Apache-2.0
"""Pusher as a pipeline sees it."""

from stoker.components.pusher import Pusher
