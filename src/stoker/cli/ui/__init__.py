# SPDX-License-Identifier: Apache-2.0
"""`stoker ui`: a local web page over the stores and their files.

    security.py    who may ask
    pages.py       an address becomes a page
    files.py       files of published artifacts
    server.py      the port, and the end

What the pages say is in `stoker.views.pages`, which reports share.
"""

import click

from stoker.cli.options import find_stores, store_options
from stoker.errors import MissingPart

DEFAULT_PORT = 7437


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"The port on 127.0.0.1.  [default: {DEFAULT_PORT}, or a free one]",
)
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
@store_options
def ui(root: str, place: str | None, port: int | None, no_open: bool) -> int:
    """Show runs, models and data in a browser, until Ctrl-C.

    The page is for you on this machine: it listens on 127.0.0.1, and asks for the token in the link
    that is printed.
    """
    stores = find_stores(root, place)
    try:
        from stoker.cli.ui.server import serve
    except ImportError as error:
        raise MissingPart("stoker ui needs more packages: pip install 'stoker[ui]'.") from error
    return serve(stores, port, open_browser=not no_open)
