# SPDX-License-Identifier: Apache-2.0
"""The strategies of a Resolver."""
