# SPDX-License-Identifier: Apache-2.0
"""Seeds of shuffles without one: new in every process, alike in a group, and to be had again."""

import pytest

from stoker.any_python import surroundings as seeds


@pytest.fixture(autouse=True)
def _new_process(monkeypatch):
    monkeypatch.setattr(seeds, "_entropy_given", [])
    seeds._draw.cache_clear()
    yield
    seeds._draw.cache_clear()


def drawn(number=3):
    return [seeds.fresh_seed() for _ in range(number)]


def test_every_shuffle_has_a_seed_of_its_own():
    assert len(set(drawn(50))) == 50


def test_an_earlier_entropy_gives_the_earlier_seeds():
    entropy = seeds.entropy()
    seeds.set_entropy(entropy)
    first = drawn()
    seeds.set_entropy(entropy)
    assert drawn() == first
    seeds.set_entropy(entropy + 1)
    assert drawn() != first


def test_all_workers_of_a_group_shuffle_alike(monkeypatch):
    found = []
    for index, port in ((0, 1), (1, 1), (0, 2)):
        cluster = f'{{"worker": ["a:{port}", "b:{port}"]}}'
        config = f'{{"cluster": {cluster}, "task": {{"type": "worker", "index": {index}}}}}'
        monkeypatch.setenv("TF_CONFIG", config)
        seeds._draw.cache_clear()
        found.append(seeds.entropy())
    assert found[0] == found[1] != found[2]
