# SPDX-License-Identifier: Apache-2.0
"""Who may ask the page: only a browser on this machine that was given the link.

    request ─ Host ─ token or cookie ─ Origin and CSRF token of a POST ─▶ the page

A page of another site can make a browser send requests here, and a name of another site can be made
to mean this address; neither has the cookie, and both are told nothing.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_REFUSED = "Open the link that `stoker ui` has printed: it has the token that this page asks for.\n"
# A redirect would not do: a browser that comes from elsewhere then keeps the new cookie back.
_ENTER = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Stoker</title>'
    '<link rel="icon" href="data:,">'
    '<meta http-equiv="refresh" content="0; url=/"></head>'
    '<body><p><a href="/">Go on</a></p></body></html>'
)


class Guard:
    """Lets requests through that come from whom the link was given to."""

    def __init__(self, app: ASGIApp, *, port: int, token: str) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self._token = token
        self._session = secrets.token_urlsafe(32)
        # Browsers give a cookie to every port of a host.
        self._cookie = f"stoker-{port}"
        self.csrf = hmac.new(self._session.encode(), b"csrf", hashlib.sha256).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return
        answer = self._find_answer(scope)
        await (answer or self._app)(scope, receive, _add_headers(send))

    def _find_answer(self, scope: Scope) -> Response | None:
        """Our own answer; None where the page may answer."""
        headers = Headers(scope=scope)
        if headers.getlist("host") not in [[host] for host in self._hosts]:
            return PlainTextResponse("This page is for 127.0.0.1 alone.\n", status_code=421)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("Only GET and POST are answered.\n", status_code=405)
        asked = parse_qs(scope["query_string"].decode("latin-1"))
        if scope["path"] == "/" and "token" in asked:
            return self._exchange(asked["token"])
        if not self._has_cookie(headers):
            return PlainTextResponse(_REFUSED, status_code=403)
        if scope["method"] == "POST" and headers.getlist("origin") not in [
            [f"http://{host}"] for host in headers.getlist("host")
        ]:
            return PlainTextResponse("This form is for this page alone.\n", status_code=403)
        return None

    def _exchange(self, tokens: Iterable[str]) -> Response:
        """A cookie for the token, so that the address no longer shows it."""
        if not all(_is_same(token, self._token) for token in tokens):
            return PlainTextResponse(_REFUSED, status_code=403)
        answer = HTMLResponse(_ENTER)
        answer.set_cookie(self._cookie, self._session, httponly=True, samesite="strict", path="/")
        return answer

    def _has_cookie(self, headers: Headers) -> bool:
        try:
            found = SimpleCookie("; ".join(headers.getlist("cookie"))).get(self._cookie)
        except CookieError:
            return False
        return found is not None and _is_same(found.value, self._session)


def _is_same(given: str, known: str) -> bool:
    """Whether two texts are the same, in a time that tells nothing of where they differ."""
    return secrets.compare_digest(given.encode("utf-8", "replace"), known.encode())


def is_csrf_token(given: str, known: str) -> bool:
    """Whether a form was made by this server for this session."""
    return _is_same(given, known)


def _add_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
        await send(message)

    return send_with_headers
