"""Short ways to what many tests do."""

from lattree import Binarizer, Dataset, OptimalTreeSearch, _table

ALL = Binarizer(thresholds="all")


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
