# SPDX-License-Identifier: Apache-2.0
"""InfraValidator: a model in, a blessing out if it can be served."""
