"""The bundled tables have their published sizes, dtypes and sources."""

from importlib.resources import files

import polars as pl
import pytest

import lattree
from lattree import datasets

SIZES = {  # rows, features, classes, missing cells
    "anneal": (898, 38, 5, 22175),
    "hypothyroid": (3772, 29, 4, 6064),
    "ionosphere": (351, 34, 2, 0),
    "iris": (150, 4, 3, 0),
    "kr-vs-kp": (3196, 36, 2, 0),
    "restaurant": (12, 10, 2, 0),
    "soybean": (683, 35, 19, 2337),
    "titanic": (2201, 3, 2, 0),
    "vote": (435, 16, 2, 392),
    "weather": (14, 4, 2, 0),
}


def test_names():
    assert datasets.names() == sorted(SIZES)


@pytest.mark.parametrize("name", SIZES)
def test_sizes_and_dtypes(name):
    data = datasets.load(name)
    frame = datasets.load_frame(name)
    missing = frame.null_count().sum_horizontal().item()
    assert (data.n_rows, data.n_features, len(data.schema.classes), missing) == SIZES[name]
    assert data.schema.target == datasets.TARGET
    assert data.to_polars().equals(frame, null_equal=True)
    assert set(frame.dtypes) <= {pl.String, pl.Int64, pl.Float64}


def test_nominal_columns_that_hold_digits_are_text():
    frame = datasets.load_frame("anneal")
    assert frame["formability"].dtype == pl.String
    assert frame["carbon"].dtype == pl.Int64
    assert "None" in datasets.load_frame("restaurant")["Patrons"].to_list()


@pytest.mark.parametrize("function", [datasets.load, datasets.load_frame, datasets.describe])
def test_unknown_name(function):
    with pytest.raises(lattree.ParameterError, match=r'no bundled table \'adult\'; there are "anneal"'):
        function("adult")
    with pytest.raises(ValueError, match="bundled"):
        function("../datasets/iris")


def test_descriptions_and_sources():
    sources = files("lattree.datasets").joinpath("SOURCES.md").read_text(encoding="utf-8")
    for name in datasets.names():
        line = datasets.describe(name)
        assert line
        assert "\n" not in line
        assert f"| {name} |" in sources
    assert "CC BY 4.0" in sources


def test_small_enough():
    folder = files("lattree.datasets")
    assert sum(len(folder.joinpath(f"{name}.parquet").read_bytes()) for name in datasets.names()) < 400_000
