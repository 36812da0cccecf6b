"""A file read with `like=` has the levels that are written in it, and the numbers and dates that the schema has."""

import json
import random

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

from lattree import DataError, Dataset, GreedyTreeSearch, OptimalTreeSearch, ParameterError, Tree, read_csv
from lattree.cli import app

ALIKE = [
    ("0300", "300"),
    ("1.50", "1.5"),
    ("1e3", "1000"),
    ("1.0", "1"),
    ("-0", "0"),
    ("+1", "1"),
    ("2020-01-01T00:00:00", "2020-01-01 00:00:00"),
    ("08:00:00", "8:00:00"),
    ("True", "true"),
    (" 1", "1"),
    ("1 ", "1"),
    ("0x10", "16"),
    ('"1,000"', "1000"),
    ("inf", "Inf"),
    ("nan", "NaN"),
    (".5", "0.5"),
    ("1_000", "1000"),
]
"""Cells that a reader may take for the same value."""

KINDS = {
    "integer": ["1", "20", "-3", "+4", "007", "9007199254740993"],
    "float": ["1.5", "-2", "1e3", "inf", ".5", "nan", "+0.25", "7."],
    "boolean": ["true", "false", "True", "FALSE"],
    "date": ["2020-01-01", "2021-12-31", "1999-02-03"],
    "datetime": ["2020-01-01T00:00:00", "2021-12-31T23:59:59", "1999-02-03T04:05:06"],
    "time": ["08:00:00", "23:59:59"],
    "text": ["0300", "300", "1.0", "1", "x", "+1", "2020-01-01", "true", "True", "nan", "inf", "08:00:00", '" 1"'],
}


@pytest.fixture
def write(tmp_path):
    def text_file(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return text_file


@pytest.mark.parametrize(("one", "other"), ALIKE)
@pytest.mark.parametrize("letter", [False, True])
def test_fault_a_levels_are_matched_as_written(write, one, other, letter):
    rows = f"{one},a\n{other},b\n" * 3
    path = write("k,y\n" + rows + ("x,a\n" if letter else ""))
    options = {} if letter else {"nominal": ["k"]}  # one letter among the cells, and they are levels
    tree = OptimalTreeSearch(max_depth=2).run(read_csv(path, "y", **options)).tree
    data = read_csv(write("k,y\n" + rows, "second.csv"), "y", like=tree)
    assert tree.predict(data).to_list() == ["a", "b"] * 3
    assert tree.predict(read_csv(path, "y", like=tree, **options)).to_list()[:6] == ["a", "b"] * 3


def test_fault_a_some_rows_of_a_file_are_what_they_are_in_all_of_it(write):
    """300 random files: a second one, of some rows of the first, gives the rows that `take` gives."""
    rng = random.Random(5)
    for case in range(300):
        kinds = rng.choices(list(KINDS), k=rng.randrange(1, 5))
        cells = [[rng.choice([*KINDS[kind], *["", "?"][: rng.randrange(3)]]) for kind in kinds] for _ in range(12)]
        labels = rng.choice([["a", "b"], ["0", "1"], ["007", "7x"], ["+1", "-1"], ["true", "FALSE"], ["1.0", "2.0"]])
        lines = [",".join([*row, rng.choice(labels)]) for row in cells]
        names = ",".join([*(f"c{i}" for i in range(len(kinds))), "y"])
        nominal = [f"c{i}" for i in range(len(kinds)) if rng.random() < 0.3] + (["y"] if rng.random() < 0.3 else [])
        data = read_csv(write("\n".join([names, *lines])), "y", nominal=nominal)
        rows = sorted(rng.sample(range(12), rng.randrange(1, 5)))
        ends = rng.choice(["\n", "\r\n"])
        second = write(rng.choice(["", "\ufeff"]) + ends.join([names, *(lines[row] for row in rows)]), "second.csv")
        again = read_csv(second, "y", like=data, nominal=nominal if rng.random() < 0.5 else ())
        assert again.schema == data.schema, case
        assert again.to_polars().equals(data.take(rows).to_polars(), null_equal=True), (case, lines, rows)


@pytest.mark.parametrize(
    ("trained", "cell", "expected"),
    [
        ("1\n2", "x", "a number"),
        ("1\n2", "0x10", "a number"),
        ("1\n2", " 1", "a number"),
        ("1\n2", "1_000", "a number"),
        ("1\n2", '"1,000"', "a number"),
        ("1\n2", "2020-01-01", "a number"),
        ("1\n2", "True", "a number"),
        ("1.5\n2", "1d", "a number"),
        ("2020-01-01\n2020-01-02", "01/02", "a date such as 2020-01-31"),
        ("2020-01-01\n2020-01-02", "2020-13-01", "a date such as 2020-01-31"),
        ("2020-01-01\n2020-01-02", "20200101", "a date such as 2020-01-31"),
        ("2020-01-01T00:00:00\n2020-01-02T00:00:00", "noon", "a date such as 2020-01-31, with or without"),
        ("08:00:00\n09:00:00", "25:00:00", "a time of day such as 08:30:00"),
        ("true\nfalse", "yes", "true or false"),
    ],
)
def test_fault_a_cells_that_are_not_what_the_schema_says(write, trained, cell, expected):
    like = read_csv(write("x\n" + trained))
    shown = json.dumps(cell.strip('"'))
    with pytest.raises(DataError) as error:
        read_csv(write(f"x\n{trained}\n{cell}\n", "second.csv"), like=like)
    assert f'column "x" is {shown} at row 2; expected {expected}' in str(error.value)


def test_fault_a_forms_of_dates_and_numbers(write):
    like = read_csv(write("d,t,i,f,c\n2020-01-01,2020-01-01T00:00:00,1,0.5,08:00:00\n"))
    mixed = 'd,t,i,f,c\n2020-01-03T00:00:00,2020-01-03,2.0,"+7",09:30\n"",2020-01-03 01:02,1e3,nan,09:30:00.5\n'
    frame = read_csv(write(mixed, "second.csv"), like=like).to_polars()
    assert [str(cell) for cell in frame["d"].to_list()] == ["2020-01-03", "None"]
    assert [str(cell) for cell in frame["t"].to_list()] == ["2020-01-03 00:00:00", "2020-01-03 01:02:00"]
    assert frame["i"].to_list() == [2, 1000]
    assert frame["f"].to_list() == [7.0, None]
    assert [str(cell) for cell in frame["c"].to_list()] == ["09:30:00", "09:30:00.500000"]
    with pytest.raises(DataError, match='"9007199254740993" at row 0; beside fractions expected'):
        read_csv(write("i\n9007199254740993\n0.5\n"), like=like.select("i"))


def test_fault_a_labels_are_read_as_the_schema_has_them(write):
    integers = read_csv(write("x,y\n1,7\n2,10\n"), "y")
    assert read_csv(write("x,y\n1,007\n"), like=integers).target.to_list() == [7]
    with pytest.raises(DataError, match='the target "y" is "p" at row 1; expected one of the classes "7", "10"'):
        read_csv(write("x,y\n1,7\n2,p\n"), like=integers)
    with pytest.raises(DataError, match='the target "y" is 8 at row 0'):
        read_csv(write("x,y\n1,8\n"), like=integers)
    text = read_csv(write("x,y\n1,007\n2,7\n"), "y", nominal=["y"])
    assert read_csv(write("x,label\n1,007\n2,7\n"), "label", like=text).target.to_list() == ["007", "7"]
    numbers = read_csv(write("x,y\n1,0.5\n2,7\n"), "y")
    assert read_csv(write("x,y\n1,7\n"), like=numbers).target.to_list() == [7.0]
    with pytest.raises(DataError, match='the target "y" is "p" at row 0; expected a number'):
        read_csv(write("x,y\n1,p\n"), like=numbers)
    assert read_csv(write("x,y\n1,\n"), like=text, drop=["y"]).target is None


def test_fault_a_kinds_beside_like(write):
    path = write("k,s,i,y\n0300,M,1,a\n300,L,2,b\n")
    options = {"nominal": ["k"], "ordinal": {"s": ["S", "M", "L"]}}
    data = read_csv(path, "y", **options)
    assert read_csv(path, "y", like=data, **options).to_polars().equals(data.to_polars())
    assert read_csv(path, "y", like=data, ordinal=["s"], nominal=["y"]).schema == data.schema
    for wrong, text in (
        ({"nominal": ["s"]}, '`nominal` names "s", which is ordinal in `like`'),
        ({"ordinal": ["i"]}, '`ordinal` names "i", which is continuous in `like`'),
        ({"ordinal": ["y"]}, '`ordinal` names "y", which is a target of classes in `like`'),
        ({"ordinal": {"s": ["L", "M", "S"]}}, '"L", "M", "S"; in `like` they are "S", "M", "L", in this order'),
        ({"drop": ["i"]}, '`drop` names "i", which is a feature of `like`'),
    ):
        with pytest.raises(ParameterError) as error:
            read_csv(path, "y", like=data, **wrong)
        assert text in str(error.value)


def test_fault_a_on_the_command_line(write):
    first = write("k,x,y\n" + "0300,1,a\n300,1,b\n" * 8 + "x,1,a\n")
    second = write("k,x,y\n" + "0300,1,a\n300,1,b\n" * 2, "second.csv")
    run = CliRunner().invoke(app, ["select", str(first), "--target", "y", "--search", str(second)])
    assert run.exit_code == 0, run.output
    assert "features: k\n" in run.output
    assert "error 0" in run.output


class TestFrames:
    """Columns of numbers where levels are text, and the other way round."""

    @pytest.fixture
    def tree(self, write):
        def grown(*levels, dtype=None):
            table = pl.DataFrame({"k": pl.Series(levels * 3, dtype=dtype), "y": list("abc"[: len(levels)]) * 3})
            return GreedyTreeSearch(min_cases=2).run(Dataset(table, "y", nominal=["k"])).tree

        return grown

    def test_numbers_are_the_text_that_is_written_alike(self, tree):
        both = tree("0300", "300")
        for column in (pl.Series([300]), pd.Series([300]), np.array([300.0]), [300]):
            assert both.predict({"k": column}).to_list() == ["b"]
        assert tree("1.0", "1").predict({"k": [1.0, None]}).to_list()[0] == "b"
        assert tree("1.5", "2").predict(pd.DataFrame({"k": [1.5, 2.0, np.nan]})).to_list()[:2] == ["a", "b"]

    @pytest.mark.parametrize(
        ("level", "column"),
        [
            ("0300", [300]),
            ("1.50", [1.5]),
            ("1.0", [1]),
            ("1e3", [1000]),
            ("True", [True]),
            ("2020-01-01T00:00:00", pl.Series(["2020-01-01"]).str.to_datetime()),
            ("2020-01-01T00:00", pl.Series(["2020-01-01"]).str.to_date()),
        ],
    )
    def test_other_writings_of_a_level_are_an_error(self, tree, level, column):
        with pytest.raises(DataError, match=r'column "k" is .* at row 0; the level is written ".*" in the schema'):
            tree(level, "x").predict({"k": column})

    def test_values_that_are_no_level_are_unseen(self, tree):
        with pytest.warns(UserWarning, match='column "k" is "301" in 1 row'):
            assert len(tree("0300", "x").predict({"k": [301]})) == 1
        with pytest.warns(UserWarning, match='column "k" is "x" in 1 row'):
            assert len(tree(300, 301).predict({"k": ["x"]})) == 1

    def test_text_is_read_where_values_were_trained(self, tree):
        assert tree(300, 301).predict({"k": ["0300", "301", "3.01e2"]}).to_list() == ["a", "b", "b"]
        assert tree(1.5, 2.0).predict({"k": ["1.50", "2"]}).to_list() == ["a", "b"]
        assert tree(True, False).predict({"k": ["True", "FALSE", "true"]}).to_list() == ["a", "b", "a"]
        days = pl.Series(["2020-01-01", "2020-01-02"]).str.to_date()
        assert tree(*days).predict({"k": ["2020-01-02T00:00:00", "2020-01-01"]}).to_list() == ["b", "a"]
        assert tree(*days).predict({"k": days.cast(pl.Datetime("ms"))}).to_list() == ["a", "b"]
        assert tree(*days.cast(pl.Datetime("us"))).predict({"k": days}).to_list() == ["a", "b"]
        with pytest.raises(DataError, match='column "k" is "yes" at row 1; expected true or false'):
            tree(True, False).predict({"k": ["true", "yes"]})


@pytest.mark.parametrize("tree_of", ["integer", "date", "datetime", "float", "nominal", "boolean"])
def test_fault_x9_a_column_that_is_all_missing(write, tree_of):
    days = pl.Series(["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04"]).str.to_date()
    columns = {
        "integer": [1, 2, 3, 4],
        "date": days,
        "datetime": days.cast(pl.Datetime("us")),
        "float": [0.5, 1.0, 1.5, 2.0],
        "nominal": ["p", "q", "r", "s"],
        "boolean": [True, True, False, False],
    }
    table = pl.DataFrame({"x": columns[tree_of], "z": [1, 1, 2, 3], "y": ["a", "a", "b", "b"]})
    like = Dataset(table, "y")
    tree = OptimalTreeSearch(max_depth=1).run(like.select(["x"])).tree
    frame = pd.DataFrame({"z": [1, 1, 2, 3], "y": ["a", "a", "b", "b"]})
    for missing in (
        pl.Series([None] * 4),
        pl.Series([None] * 4, dtype=pl.String),
        pl.Series([float("nan"), None] * 2),
        [float("nan")] * 4,
        [None] * 4,
        np.array([None] * 4),
        np.full(4, np.nan),
        pl.Series([None] * 4, dtype=pl.List(pl.Int64)),
        pd.Series([None] * 4, dtype=object),
        pd.Series([pd.NaT] * 4),
        pd.Series(pd.Categorical([None] * 4)),
    ):
        given = frame.assign(x=missing.to_numpy() if isinstance(missing, pl.Series) else missing)
        datasets = [Dataset({"x": missing, "z": [1, 1, 2, 3], "y": ["a", "a", "b", "b"]}, like=like)]
        if not isinstance(missing, pl.Series):
            datasets.append(Dataset(given, like=like))
        for data in datasets:
            for search in (
                OptimalTreeSearch(max_depth=2),
                OptimalTreeSearch(max_depth=2, engine="continuous"),
                GreedyTreeSearch(),
            ):
                result = search.run(data)
                assert result.tree.predict(data).to_list() == ["a", "a", "b", "b"]
                assert result.tree.features == ["z"]
            assert data.take([0, 1]).to_polars()["x"].null_count() == 2
        assert len(tree.predict({"x": missing})) == 4
    text = write('x,z,y\n,1,a\n?,1,a\n"",2,b\n,3,b\n')
    assert GreedyTreeSearch().run(read_csv(text, like=like)).tree.features == ["z"]


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["+1", "2"], "integer", [1, 2]),
        (["+1.5", "2"], "float", [1.5, 2]),
        (["inf", "nan", "1"], "float", [float("inf"), None, 1]),
        (["-inf", "NaN"], "float", [float("-inf"), None]),
        (["1", "nan"], "float", [1, None]),
        (["-.5", "1.e3"], "float", [-0.5, 1000]),
        (["1", "x"], "nominal", ["1", "x"]),
        (["1", "1_000"], "nominal", ["1", "1_000"]),
    ],
)
def test_fault_x12_numbers_that_are_written_in_other_ways(write, cells, kind, values):
    data = read_csv(write("x\n" + "\n".join(cells)))
    feature = data.schema.features[0]
    assert (feature.number or feature.kind) == kind
    assert data.to_polars()["x"].to_list() == values


def test_cells_that_break_the_inference_of_the_reader(write):
    data = read_csv(write("a,b,c,d,y\n" + "9" * 40 + ",1,true,2020-01-01,p\n3,+2,FALSE,2020-01-02,q\n"), "y")
    assert [f.number or f.kind for f in data.schema.features] == ["float", "integer", "nominal", "date"]
    assert data.to_polars()["b"].to_list() == [1, 2]


def test_trees_carry_their_schema_through_json(write):
    tree = OptimalTreeSearch(max_depth=1).run(read_csv(write("k,y\n0300,a\n300,b\n"), "y", nominal=["k"])).tree
    again = Tree.from_json(tree.to_json())
    assert again.predict(read_csv(write("k\n300\n0300\n"), like=again)).to_list() == ["b", "a"]
