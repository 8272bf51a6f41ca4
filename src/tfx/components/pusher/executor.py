# SPDX-License-Identifier: Apache-2.0
"""What Pusher does in a worker."""

from stoker.components.pusher import Executor
