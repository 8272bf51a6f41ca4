# SPDX-License-Identifier: Apache-2.0
"""Pusher: a model in, a new version in the folder of a server."""
