# SPDX-License-Identifier: Apache-2.0
"""Who may ask the page, and for what: real requests, also those that no browser would send."""

import socket

import httpx
import pytest

from stoker.metadata import sqlite_metadata_connection_config
from stoker.metadata.store import Store

pytestmark = pytest.mark.slow

PATHS = ("/", "/s/0/runs", "/s/0/runs/part", "/static/page.js", "/s/0/file?id=1&path=note.txt")


def send(served, request):
    """The status and the whole answer to a request that is sent as it is."""
    host, port = served.host.split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(request.encode())
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    return int(answer.split()[1]), answer.decode()


def ask(served, path, *headers, method="GET", body=""):
    lines = [f"{method} {path} HTTP/1.1", "Connection: close", *headers]
    if body:
        lines += [
            f"Content-Length: {len(body)}",
            "Content-Type: application/x-www-form-urlencoded",
        ]
    return send(served, "\r\n".join([*lines, "", body]))


@pytest.fixture
def cookie(client):
    return "Cookie: " + "; ".join(f"{name}={value}" for name, value in client.cookies.items())


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_told_without_the_token(served, path):
    status, answer = ask(served, path, f"Host: {served.host}")
    assert status == 403
    assert "notes" not in answer


@pytest.mark.parametrize("token", ["", "x", "é", "x" * 32])
def test_a_wrong_token_gets_no_cookie(served, token):
    answer = httpx.get(served.address, params={"token": token}, trust_env=False)
    assert answer.status_code == 403
    assert not answer.cookies


def test_the_token_becomes_a_cookie_that_no_script_and_no_other_site_can_use(served):
    answer = httpx.get(served.link, trust_env=False)
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert served.token not in answer.headers["set-cookie"] + answer.text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost.evil.example:{port}", ""])
@pytest.mark.parametrize("path", PATHS[:2])
def test_another_name_for_this_address_is_refused(served, cookie, host, path):
    named = host.format(port=served.host.split(":")[1])
    assert ask(served, path, f"Host: {named}", cookie)[0] in (400, 421)


def test_two_hosts_are_refused(served, cookie):
    both = (f"Host: {served.host}", "Host: evil.example")
    assert ask(served, "/s/0/runs", *both, cookie)[0] in (400, 421)


def test_a_form_of_another_site_changes_nothing(served, client, cookie, notes):
    run, csrf = find_form(client)
    body = f"run={run}&note=evil&tags=evil&csrf={csrf}"
    host = f"Host: {served.host}"
    for headers in (
        (),
        ("Origin: http://evil.example",),
        ("Origin: null",),
        (f"Origin: https://{served.host}",),
    ):
        assert ask(served, "/s/0/note", host, cookie, *headers, method="POST", body=body)[0] == 403
    own = f"Origin: {served.address}"
    no_csrf = body.partition("&csrf")[0]
    assert ask(served, "/s/0/note", host, cookie, own, method="POST", body=no_csrf)[0] == 403
    assert ask(served, "/s/0/note", host, own, method="POST", body=body)[0] == 403
    with open_store(notes) as store:
        assert all("note" not in one.properties for one in store.runs())
    assert ask(served, "/s/0/note", host, cookie, own, method="POST", body=body)[0] == 303
    with open_store(notes) as store:
        assert [one.properties["note"] for one in store.runs() if one.run_id == run] == ["evil"]


def find_form(client):
    page = client.get("/s/0/runs").text
    run = page.partition('name="run" value="')[2].partition('"')[0]
    form = client.get("/s/0/run", params={"id": run}).text
    return run, form.partition('name="csrf" value="')[2].partition('"')[0]


def open_store(notes):
    return Store(sqlite_metadata_connection_config(str(notes / "out/metadata.db")))


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"])
def test_other_methods_are_refused(served, cookie, method):
    status, answer = ask(served, "/s/0/runs", f"Host: {served.host}", cookie, method=method)
    assert status == 405
    assert "notes" not in answer


def test_pages_allow_no_script_but_their_own(client):
    for path in ("/s/0/runs", "/static/page.js"):
        answer = client.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "<script>" not in answer.text
        assert "style=" not in answer.text


def test_a_form_that_is_too_long_is_refused(served, cookie):
    host, own = f"Host: {served.host}", f"Origin: {served.address}"
    body = "note=" + "x" * 200_000
    assert ask(served, "/s/0/note", host, cookie, own, method="POST", body=body)[0] == 413


def test_it_listens_on_loopback_alone(served):
    port = f"{int(served.host.split(':')[1]):04X}"
    with open("/proc/net/tcp") as table:
        local = [line.split()[1] for line in table if line.split()[3] == "0A"]
    assert [one for one in local if one.endswith(f":{port}")] == [f"0100007F:{port}"]
