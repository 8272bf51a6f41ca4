# SPDX-License-Identifier: Apache-2.0
"""`python -m stoker` is `stoker`."""

from stoker.cli import main

if __name__ == "__main__":
    main()
