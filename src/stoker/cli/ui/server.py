# SPDX-License-Identifier: Apache-2.0
"""The port that the page listens on, the link to it, and its end."""

import contextlib
import os
import secrets
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import uvicorn

from stoker.cli.ui import DEFAULT_PORT
from stoker.cli.ui.pages import make_app
from stoker.errors import StokerError
from stoker.metadata.config import StoreConfig

_GRACE_SECONDS = 2


def serve(stores: Sequence[StoreConfig], port: int | None, *, open_browser: bool) -> int:
    """Serve the page until Ctrl-C."""
    with _listen(port) as listener:
        number = listener.getsockname()[1]
        token = secrets.token_urlsafe(24)
        link = f"http://127.0.0.1:{number}/?token={token}"
        config = uvicorn.Config(
            make_app(stores, port=number, token=token),
            log_level="warning",
            access_log=False,  # it would have the token
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        # Not by `print_line`, which masks tokens: this one is to be read.
        click.echo(f"The page is at {link}\nIt is for this machine alone. Ctrl-C ends it.")
        with (
            _open(link) if open_browser else contextlib.nullcontext(),
            contextlib.suppress(KeyboardInterrupt),  # Ctrl-C is how it is meant to end
        ):
            uvicorn.Server(config).run(sockets=[listener])
    return 0


@contextlib.contextmanager
def _listen(port: int | None) -> Iterator[socket.socket]:
    """A socket on loopback: at the port that was asked for, at ours, or where there is room."""
    with contextlib.closing(socket.socket()) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", DEFAULT_PORT if port is None else port))
        except OSError as error:
            if port is not None:
                raise StokerError(
                    f"Port {port} cannot be used: {error.strerror}. Choose another with --port N, "
                    "or leave it out."
                ) from error
            listener.bind(("127.0.0.1", 0))
        listener.listen()  # who follows the link at once waits a moment
        yield listener


@contextlib.contextmanager
def _open(link: str) -> Iterator[None]:
    """Open a browser by way of a file that is ours: arguments are seen by all users."""
    with tempfile.TemporaryDirectory(prefix="stoker-ui-") as folder:
        page = Path(folder, "open.html")
        page.touch(mode=0o600)
        page.write_text(
            f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={link}">'
        )
        if _has_screen():
            with contextlib.suppress(webbrowser.Error):
                webbrowser.open(page.as_uri())
        yield


def _has_screen() -> bool:
    """Whether a browser would have a window; one in this terminal would be in the way."""
    return sys.platform == "darwin" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
