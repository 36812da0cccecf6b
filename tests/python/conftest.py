"""What several test files share."""

import numpy as np
import polars as pl
import pytest

import lattree


def errors(data: lattree.Dataset, tree: lattree.Tree) -> float:
    """The mass of rows that a tree predicts wrongly, from the table itself."""
    frame = data.to_polars()
    wrong = tree.predict(data).to_numpy() != frame[data.schema.target].to_numpy()
    mass = np.ones(len(frame))
    for name in ("counts", "weight"):
        if name in frame.columns:
            mass = mass * frame[name].to_numpy()
    return float((wrong * mass).sum())


@pytest.fixture(name="errors")
def errors_fixture():
    return errors


@pytest.fixture
def mixed():
    """A table with every kind of column, missing values in each, and a target that needs several of them."""
    rng = np.random.default_rng(7)
    n = 240
    sizes = pl.Enum(["S", "M", "L", "XL"])
    frame = pl.DataFrame(
        {
            "length": rng.normal(size=n).round(1),
            "age": rng.integers(0, 12, n),
            "since": pl.Series(rng.integers(18000, 18012, n)).cast(pl.Int32).cast(pl.Date),
            "size": pl.Series(np.array(["S", "M", "L", "XL"])[rng.integers(0, 4, n)]).cast(sizes),
            "color": np.array(["red", "green", "blue"])[rng.integers(0, 3, n)],
            "member": rng.random(n) < 0.4,
        }
    )
    noise = pl.Series(rng.random(n) < 0.12)
    label = pl.when(pl.col("age") > 6).then(pl.col("color") == "red").otherwise(pl.col("length") > 0.2)
    frame = frame.with_columns(y=pl.when(label ^ noise).then(pl.lit("yes")).otherwise(pl.lit("no")))
    for name in frame.columns[:-1]:
        gone = pl.Series(rng.random(n) < 0.05)
        frame = frame.with_columns(pl.when(~gone).then(pl.col(name)).alias(name))
    return frame
