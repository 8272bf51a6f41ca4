# SPDX-License-Identifier: Apache-2.0
"""A connection is cut while a transaction goes on: it takes effect once, whatever was lost."""

import random
import signal
import threading
from collections.abc import Iterator

import pytest
from cutting_proxy import CuttingProxy
from database_servers import DatabaseServer, one_soon
from small_pipeline import begin, make_examples, run
from sqlalchemy import Connection

from stoker.artifacts import Examples, Model, State
from stoker.errors import StoreError
from stoker.metadata import EventType, ExecutionState, StoreConfig
from stoker.metadata.database import Database
from stoker.metadata.store import Store

pytestmark = pytest.mark.slow
CUTS = 50


@pytest.fixture
def proxy(server: DatabaseServer) -> Iterator[CuttingProxy]:
    proxy = CuttingProxy(server.port)
    yield proxy
    proxy.close()


@pytest.fixture
def proxied(server: DatabaseServer, proxy: CuttingProxy) -> Iterator[Store]:
    """A store behind a proxy."""
    config = server.share_database()
    with Store(StoreConfig(config.url.replace(f":{server.port}/", f":{proxy.port}/"))) as store:
        yield store


def publish_one(store: Store, execution_id: int, outputs: dict[str, list[Model]]) -> None:
    outputs["model"][0].custom_properties = {"accuracy": 0.5}
    found_while_running = Examples()
    found_while_running.uri = f"/found/{execution_id}"
    outputs["found"] = [found_while_running]
    store.publish(execution_id, outputs, properties={"note": "published"})


def count_pieces(store: Store, proxy: CuttingProxy, given: Examples) -> int:
    """How often a client sends something for an execution, from its beginning to its end."""
    for _ in range(8):  # a driver that sees a statement often prepares it
        proxy.arm(None)
        publish_one(store, *begin(store, inputs={"examples": [given]}, outputs={"model": Model}))
    return proxy.num_pieces


@one_soon
def test_what_is_cut_at_random_moments_is_published_once(
    proxied: Store, proxy: CuttingProxy
) -> None:
    run(proxied, "run-0")
    given = make_examples(proxied)
    num_pieces = count_pieces(proxied, proxy, given)
    dice = random.Random(19)
    before, number = len(proxied.executions()), 0
    while proxy.num_cuts < CUTS:
        number += 1
        outside = Examples()
        outside.uri = f"/outside/{number}"
        inputs = {"examples": [given], "more": [outside]}
        if number % 5 == 0:  # whether it took effect must be found out
            turn = number // 5
            proxy.arm(1 + turn % 2, delivers=turn // 2 % 2 == 0, sign=b"COMMIT")
        else:
            proxy.arm(dice.randrange(1, num_pieces + 1), delivers=number % 2 == 0)
        execution_id, outputs = begin(proxied, inputs=inputs, outputs={"model": Model})
        publish_one(proxied, execution_id, outputs)
        proxy.arm(None)
        require_published_once(proxied, execution_id, outside)
        assert len(proxied.executions()) == before + number
    assert number < 2 * CUTS


def require_published_once(store: Store, execution_id: int, outside: Examples) -> None:
    execution = store.execution(execution_id)
    assert execution.state == ExecutionState.COMPLETE
    assert execution.properties == {"note": "published"}
    events = store.events(execution_id)
    assert sorted(event.type for event in events) == [EventType.INPUT] * 2 + [EventType.OUTPUT] * 2
    [model], [found] = store.outputs(execution_id).values()
    assert (model.state, found.state) == (State.LIVE, State.LIVE)
    assert model.custom_properties == {"accuracy": 0.5}
    for uri in (model.uri, found.uri, outside.uri):
        assert len(store.artifacts(uri=uri, states=tuple(State))) == 1
    assert store.artifact(outside.id).uri == outside.uri


def test_a_failure_that_is_cut_is_recorded_once(proxied: Store, proxy: CuttingProxy) -> None:
    for piece in range(1, 12):
        execution_id, outputs = begin(proxied, outputs={"model": Model})
        proxy.arm(piece, delivers=True)
        assert proxied.close_execution(execution_id, ExecutionState.FAILED, "it failed")
        proxy.arm(None)
        assert proxied.execution(execution_id).error == "it failed"
        assert proxied.artifact(outputs["model"][0].id).state == State.ABANDONED


def test_a_server_that_stays_away_is_named_without_its_password(
    proxied: Store, proxy: CuttingProxy
) -> None:
    said: list[str] = []
    proxied.be_patient(2.5, said.append)
    proxy.close()
    with pytest.raises(
        StoreError, match=r"does not answer: .* It was asked for \d s: try again"
    ) as no:
        proxied.runs()
    [line] = said
    assert line.endswith("does not answer; waiting…")
    assert "ana@127.0.0.1" in line
    assert "kX7" not in line + str(no.value)


def test_who_opens_a_store_that_is_not_there_is_told_at_once(server: DatabaseServer) -> None:
    with pytest.raises(StoreError, match="does not answer"):
        Database(StoreConfig(server.url("stoker_none", port=1)))
    with pytest.raises(StoreError, match=r"(Check user|rights on the database)"):
        Database(StoreConfig(server.url("stoker_none", password="wrong-one")))
    with pytest.raises(StoreError, match="CREATE DATABASE"):
        Database(StoreConfig(server.url("stoker_none")))


@pytest.mark.parametrize("server", ["postgresql"], indirect=True)
def test_a_connection_without_an_answer_is_given_up_and_another_one_is_made(
    server: DatabaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stoker.metadata import postgres_connection

    monkeypatch.setattr(postgres_connection, "ANSWER_SECONDS", 1)
    with Store(server.share_database()) as store:
        before = store.ask(_ask_session)
        server.send_signal(signal.SIGSTOP)
        waking = threading.Timer(3, server.send_signal, [signal.SIGCONT])
        waking.start()
        assert store.ask(_ask_session) != before
        waking.join()


def _ask_session(connection: Connection) -> int:
    return int(connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one())
