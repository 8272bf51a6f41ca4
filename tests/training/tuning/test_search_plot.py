# SPDX-License-Identifier: Apache-2.0
from html.parser import HTMLParser

import pytest

from stoker.training.tuning.plot import page
from stoker.training.tuning.trials import Search, Trial

TRIALS = [
    Trial(id="0", values={"rate": 0.1}, score=0.5),
    Trial(id="1", values={"rate": 0.2}, error="ValueError: <b>"),
    Trial(id="2", values={"rate": 0.3}, score=0.75),
]


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.words.append(data)

    def of_class(self, name):
        return [attributes for _, attributes in self.tags if attributes.get("class") == name]


def drawn(*trials, direction="max", objective="val_accuracy"):
    return Page(page(Search(objective=objective, direction=direction, trials=trials)))


def test_every_trial_is_drawn_and_the_best_one_marked():
    found = drawn(*TRIALS)
    assert len(found.of_class("trial")) == 1
    assert len(found.of_class("failed")) == 1
    (best,) = [one for one in found.of_class("best") if "cy" in one]
    assert float(best["cy"]) < float(found.of_class("trial")[0]["cy"])
    assert "The best val_accuracy is 0.75. 1 failed." in found.words


def test_the_best_so_far_goes_down_where_less_is_better():
    (path,) = drawn(TRIALS[2], TRIALS[0], direction="min").of_class("so-far")
    first, second = (float(part.split("H")[0]) for part in path["d"].split("V")[1:])
    assert second > first  # further down on the page


def test_the_page_needs_nothing_from_elsewhere():
    tags = drawn(*TRIALS).tags
    assert not [tag for tag, _ in tags if tag in ("script", "link", "img")]
    assert not [one for _, one in tags if "src" in one or "href" in one]


def test_names_and_errors_are_text_not_markup():
    found = drawn(*TRIALS, objective="<i>")
    assert not [tag for tag, _ in found.tags if tag in ("b", "i")]
    assert "ValueError: <b>" in found.words


@pytest.mark.parametrize("trials", [(), TRIALS[:1], TRIALS[1:2]], ids=["none", "one", "failed"])
def test_a_search_of_few_trials_is_drawn_too(trials):
    assert "svg" in [tag for tag, _ in drawn(*trials).tags]
