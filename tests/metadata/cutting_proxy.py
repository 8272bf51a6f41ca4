# SPDX-License-Identifier: Apache-2.0
"""A loopback proxy in front of a database server, which cuts connections when it is told to."""

import contextlib
import socket
import struct
import threading


class CuttingProxy:
    """Forwards to a server's port; counts what clients send, and can cut at any piece of it."""

    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self.num_pieces = 0
        self.num_cuts = 0
        self._cut_at: int | None = None
        self._delivers = False
        self._sign = b""
        threading.Thread(target=self._serve, daemon=True).start()

    def arm(self, piece: int | None, *, delivers: bool = False, sign: bytes = b"") -> None:
        """Cut everything at this piece of those that end so; the server may get it before."""
        with self._lock:
            self.num_pieces, self._cut_at, self._delivers, self._sign = 0, piece, delivers, sign

    def cut(self) -> None:
        """Cut every connection, as a network does: without a word."""
        with self._lock:
            found, self._open = self._open, set()
            self.num_cuts += 1
        for one in found:
            with contextlib.suppress(OSError):
                # A server that is reset throws away what it has not yet read.
                if one.getsockname()[1] == self.port:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):  # closed before
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
            except OSError:
                return
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open |= {client, server}
            threading.Thread(target=self._send, args=(client, server), daemon=True).start()
            threading.Thread(target=self._answer, args=(server, client), daemon=True).start()

    def _send(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                with self._lock:
                    counts = data.rstrip(b"\0").endswith(self._sign)
                    self.num_pieces += counts
                    cuts = counts and self.num_pieces == self._cut_at
                if cuts and self._delivers:
                    server.sendall(data)
                if cuts:
                    self.cut()
                    return
                server.sendall(data)
        self._end(client, server)

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                client.sendall(data)
        self._end(server, client)

    def _end(self, *ends: socket.socket) -> None:
        for one in ends:
            with self._lock:
                self._open.discard(one)
            one.close()
