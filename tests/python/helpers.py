"""Short ways to what many tests do."""

import itertools

import pytest

from lattree import Binarizer, Dataset, GreedyTreeSearch, OptimalTreeSearch, _table

ALL = Binarizer(thresholds="all")
CRITERIA = ("information_gain", "gain_ratio", "gini", "error")
NOMINAL_SPLITS = ("multiway", "one_vs_rest", "subsets")
UNSEEN = pytest.mark.filterwarnings("ignore:levels that were not there in training:UserWarning")
"""For tests that predict on levels never seen, where the warning is not what they are about."""
MISSING = ("fractional", "drop", "mean", "class_mean", "level")


def encode(table, target=None, **options):
    defaults = {
        "task": None,
        "nominal": (),
        "ordinal": (),
        "counts": None,
        "weight": None,
        "drop": (),
        "schema": None,
    }
    return _table.encode(table, target, **(defaults | options))


def train(table, target="y", **parameters):
    return OptimalTreeSearch(**({"binarizer": ALL} | parameters)).run(Dataset(table, target))


def grow(data, **parameters):
    return GreedyTreeSearch(**parameters).run(data).tree


def text(tree):
    return tree.to_text().rstrip("\n")


def questions(tree):
    """What a tree asks and predicts, without its masses."""
    return [(rule.conditions, rule.prediction) for rule in tree.rules()]


def subsets(data):
    """All subsets of the features of a table, by names in its order."""
    names = data.schema.feature_names
    return [s for size in range(len(names) + 1) for s in itertools.combinations(names, size)]
