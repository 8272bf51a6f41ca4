# SPDX-License-Identifier: Apache-2.0
"""Where another interpreter starts: `python start.py FD`, FD being the socket to the launcher.

The folder of this file must not stay on sys.path, where its modules could be taken for the user's;
so the folder is loaded as a package of its own.
"""

import importlib
import importlib.util
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
NAME = "stoker_any_python"


def load() -> None:
    """Make this folder importable as a package."""
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != FOLDER]
    sys.dont_write_bytecode = True  # a user's file that changes twice in a second is read again
    spec = importlib.util.spec_from_file_location(
        NAME, os.path.join(FOLDER, "__init__.py"), submodule_search_locations=[FOLDER]
    )
    assert spec is not None
    sys.modules[NAME] = importlib.util.module_from_spec(spec)


def main() -> None:
    """Serve one request."""
    load()
    importlib.import_module(NAME + ".worker").serve(int(sys.argv[1]))


if __name__ == "__main__":
    main()
