"""Words for missing cells among numbers, and what else a file of text may be: separators, decimal commas, encodings."""

import gzip
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lattree import DataError, Dataset, GreedyTreeSearch, ParameterError, Tree, read_csv, read_ipc, read_parquet
from test_processes import FORK, forked

MARKS = ["NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "none", "<NA>", "#N/A", "#NA"]


@pytest.fixture
def write(tmp_path):
    def write(text, name="table.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return path

    return write


def kinds(data):
    return {feature.name: feature.number or feature.kind for feature in data.schema.features}


def line_of_marks(data):
    """What `print(data)` says of words that were read as missing."""
    return [line for line in str(data).splitlines() if line.startswith("read as missing: ")]


class TestMarksInFiles:
    @pytest.mark.parametrize("mark", MARKS)
    def test_fault_k_words_for_missing_values_are_missing_among_numbers(self, write, mark):
        data = read_csv(write(f"income,n,city,y\n9.9,{mark},{mark},a\n{mark},2,Bern,b\n12,3,{mark},a\n"), "y")
        n_kind = "float" if mark.lower() == "nan" else "integer"  # nan is a float itself
        assert kinds(data) == {"income": "float", "n": n_kind, "city": "nominal"}
        frame = data.to_polars()
        assert frame["income"].to_list() == [9.9, None, 12.0]
        assert frame["n"].to_list() == [None, 2, 3]
        assert frame["city"].to_list() == [mark, "Bern", mark]  # among words it is one
        (line,) = line_of_marks(data)
        assert '"income"' in line
        assert '"city"' not in line

    @pytest.mark.parametrize(
        ("cells", "kind"),
        [
            (["2020-01-01", "2020-01-02"], "date"),
            (["2020-01-01T10:00:00", "2020-01-02T11:30:00"], "datetime_us"),
            (["08:00:00", "09:30:00"], "time"),
            (["true", "False"], "nominal"),
            (["+1", "2"], "integer"),
            (["inf", "1.5"], "float"),
        ],
    )
    def test_fault_k_in_columns_of_other_values(self, write, cells, kind):
        expected = read_csv(write("x,y\n" + "".join(f"{cell},1\n" for cell in (cells[0], "", cells[1]))))
        given = read_csv(write("x,y\n" + "".join(f"{cell},1\n" for cell in (cells[0], "NA", cells[1]))))
        assert kinds(given)["x"] == kinds(expected)["x"] == kind
        assert given.to_polars().equals(expected.to_polars())
        assert given.to_polars().schema == expected.to_polars().schema
        assert expected.to_polars()["x"].null_count() == 1

    def test_words_stay_words(self, write):
        text = "a,b,c,y\nNA,007,NA,1\nx,NA,NA,2\n1,3,,1\n"
        data = read_csv(write(text), "y", nominal=["b"])
        assert data.to_polars()["a"].to_list() == ["NA", "x", "1"]
        assert data.to_polars()["b"].to_list() == ["007", "NA", "3"]
        assert data.to_polars()["c"].to_list() == ["NA", "NA", None]  # no number says what it is
        assert line_of_marks(data) == []

    def test_null_values_are_exact_if_given(self, write):
        path = write("a,b,y\n-,NA,1\n2,3,2\n?,?,1\n")
        data = read_csv(path, "y", null_values=["-", "?"])
        assert data.to_polars()["a"].to_list() == [None, 2, None]
        assert data.to_polars()["b"].to_list() == ["NA", "3", None]
        assert read_csv(path, "y", null_values="-").to_polars()["a"].to_list() == [None, "2", "?"]
        assert read_csv(path, "y", null_values=[]).to_polars()["a"].to_list() == ["-", "2", "?"]
        labels = write("x,y\n1,0\n2,NA\n3,1\n")
        assert read_csv(labels, "y", null_values="-").schema.classes == ["0", "1", "NA"]

    def test_a_target_beside_numbers(self, write):
        path = write("x,y\n1,0\n2,NA\n3,1\n")
        with pytest.raises(DataError, match='the target "y" is missing at row 1'):
            read_csv(path, "y")
        assert read_csv(path, "y", nominal=["y"]).schema.classes == ["0", "1", "NA"]

    def test_like_reads_marks_where_numbers_are_due(self, write):
        like = read_csv(write("i,f,b,d,k,y\n1,1.5,true,2020-01-01,NA,p\n2,2.5,false,2020-01-02,x,q\n"), "y")
        text = "i,f,b,d,k\nNA,null,None,N/A,NA\nnone,NaN,NULL,<NA>,x\n"
        assert read_csv(write(text, "second.csv"), like=like).to_polars().rows() == [
            (None, None, None, None, "NA"),
            (None, None, None, None, "x"),
        ]
        with pytest.raises(DataError, match='column "i" is "NA" at row 0; expected a number'):
            read_csv(write(text, "second.csv"), like=like, null_values=["null"])

    def test_fault_k_the_tree_asks_for_numbers(self, write):
        rows = [f"{value / 10},{'low' if value < 40 else 'high'}\n" for value in range(20, 70)]
        path = write("income,y\n" + "NA,low\n" + "".join(rows))
        tree = GreedyTreeSearch(max_depth=1).run(read_csv(path, "y")).tree
        assert "income <= 3.9" in tree.to_text()
        again = Tree.from_json(tree.to_json())
        assert again.predict(read_csv(path, like=again)).to_list() == tree.predict(read_csv(path, "y")).to_list()


FRAMES = {
    "polars": pl.DataFrame,
    "pandas": pd.DataFrame,
    "pandas strings": lambda table: pd.DataFrame(table, dtype="string"),
    "dict": dict,
    "arrow": pa.table,
}


class TestMarksInFrames:
    @pytest.mark.parametrize("kind", FRAMES)
    @pytest.mark.parametrize("mark", [*MARKS, "", "?"])
    def test_fault_k_strings_that_are_numbers_but_for_marks(self, kind, mark):
        table = {"i": ["1", mark, "3"], "f": [mark, "1.5", "2"], "s": ["1", mark, "x"], "t": ["1", "2", "3"]}
        data = Dataset(FRAMES[kind](table))
        assert kinds(data) == {"i": "integer", "f": "float", "s": "nominal", "t": "nominal"}
        assert data.to_polars().rows() == [(1, None, "1", "1"), (None, 1.5, mark, "2"), (3, 2.0, "x", "3")]
        (line,) = line_of_marks(data)
        assert line.endswith(' in "i", "f"')
        assert line_of_marks(data.take([0, 2]).select(["i"])) == [line.removesuffix(', "f"')]
        assert line_of_marks(data.select(["s", "t"])) == []

    def test_numbers_beside_words_in_one_column(self):
        data = Dataset(pd.DataFrame({"x": [1, "NA", 2.5, None], "n": [1, 2, "n/a", 2**60 + 1]}))
        assert kinds(data) == {"x": "float", "n": "integer"}
        assert data.to_polars().rows() == [(1.0, 1), (None, 2), (2.5, None), (None, 2**60 + 1)]
        with pytest.raises(DataError, match="mixes int and str"):
            Dataset({"x": [1, "NA", "x"]})
        with pytest.raises(DataError, match="mixes bool and int and str"):
            Dataset({"x": [1, "NA", True]})

    def test_named_levels_are_as_they_are_written(self):
        table = {"x": ["1", "NA", "3"]}
        assert Dataset(table, nominal=["x"]).schema.features[0].levels == ["1", "3", "NA"]
        assert Dataset(table, ordinal={"x": ["NA", "1", "3"]}).schema.features[0].levels == ["NA", "1", "3"]
        category = pl.DataFrame(table).cast(pl.Categorical)
        assert Dataset(category).schema.features[0].levels == ["1", "3", "NA"]

    def test_a_second_frame_of_strings(self):
        like = Dataset({"i": ["1", "NA", "3"], "f": [1.5, 2.5, None]})
        second = Dataset(pd.DataFrame({"i": ["7", "8"], "f": ["null", "+1.5"]}), like=like)
        assert second.to_polars().rows() == [(7, None), (8, 1.5)]
        with pytest.raises(DataError, match='column "i" is "x" at row 1; expected a number'):
            Dataset({"i": ["7", "x"], "f": ["1", "2"]}, like=like)
        assert Dataset({"i": ["?", ""], "f": [None, "NA"]}, like=like).to_polars().rows() == [(None, None)] * 2

    def test_labels(self):
        table = {"x": [1, 2, 3]}
        with pytest.raises(DataError, match='the target "target" is "NA" at row 1 and has numbers elsewhere'):
            Dataset(table, ["0", "NA", "1"])
        assert Dataset(table, ["0", "NA", "1"], task="classes").schema.classes == ["0", "1", "NA"]
        assert Dataset(table | {"y": ["0", "NA", "1"]}, "y", nominal=["y"]).schema.classes == ["0", "1", "NA"]
        assert Dataset(table, ["a", "NA", "1"]).schema.classes == ["1", "NA", "a"]
        assert Dataset(table, ["0", "2", "1"]).schema.classes == ["0", "1", "2"]

    @FORK
    @pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
    def test_in_a_forked_child(self):
        pl.DataFrame({"x": np.arange(100_000) % 7}).sort("x").group_by("x").len()  # polars has its threads
        like = Dataset({"i": ["1", "NA", "3"], "b": [True, False, True]})
        assert forked(lambda: kinds(Dataset({"i": ["1", "NA", "3"] * 1000}))) == {"i": "integer"}
        second = {"i": ["7", "NA"] * 1000, "b": ["True", "0"] * 1000}
        assert forked(lambda: Dataset(second, like=like).to_polars().rows()[:2]) == [(7, True), (None, False)]


class TestTextFiles:
    @pytest.mark.parametrize("separator", [";", "\t", "|", ","])
    def test_fault_k_the_separator_is_found_in_the_header(self, write, separator):
        path = write(f"a{separator}b{separator}y\n1{separator}2{separator}p\n")
        data = read_csv(path, "y")
        assert (data.schema.feature_names, data.target.to_list()) == (["a", "b"], ["p"])
        assert read_csv(path, "y", separator=separator).to_polars().equals(data.to_polars())

    def test_separators_in_quotes_are_none(self, write):
        assert read_csv(write('"a,b";y\n1;2\n'), "y").schema.feature_names == ["a,b"]
        assert read_csv(write('"a;b",y\n1,2\n'), "y").schema.feature_names == ["a;b"]
        assert read_csv(write("alone\n1\n")).schema.feature_names == ["alone"]
        assert read_csv(write("a;b\ty\n1\t2\n", "t.tsv"), "y").schema.feature_names == ["a;b"]

    def test_decimal_commas(self, write):
        path = write("a;b;c;n;y\n1,5;1.500;NA;7;0,5\n-2,25;2,5;+3,5;8;1,5\n")
        data = read_csv(path, "y", decimal=",")
        assert kinds(data) == {"a": "float", "b": "nominal", "c": "float", "n": "integer"}
        assert data.to_polars().rows() == [(1.5, "1.500", None, 7, 0.5), (-2.25, "2,5", 3.5, 8, 1.5)]
        assert read_csv(path, like=data.select(["a", "n"]), decimal=",").to_polars()["a"].to_list() == [1.5, -2.25]
        assert read_csv(path, "y", like=data, decimal=",").target.to_list() == [0.5, 1.5]
        with pytest.raises(DataError, match='column "a" is "1,5" at row 0; expected a number'):
            read_csv(path, like=data.select(["a"]))
        with pytest.raises(DataError, match=r'column "a" is "1\.5" at row 0; expected a number'):
            read_csv(write("a;b\n1.5;2\n"), like=data.select(["a"]), decimal=",")
        assert read_csv(write("alone\n1,5\n2\n"), decimal=",").to_polars()["alone"].to_list() == [1.5, 2.0]

    @pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16", "utf-8-sig", "utf-8"])
    def test_encodings(self, write, encoding, tmp_path):
        text = "größe;y\n1;für\n2;été\n"
        data = read_csv(write(text, encoding=encoding), "y", encoding=encoding)
        assert (data.schema.feature_names, data.schema.classes) == (["größe"], ["für", "été"])
        (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode(encoding)))
        assert read_csv(tmp_path / "t.csv.gz", "y", encoding=encoding).schema == data.schema

    def test_another_encoding_than_said(self, write):
        path = write("größe;y\n1;für\n", encoding="cp1252")
        with pytest.raises(DataError, match=r'cannot be read as CSV: .*encoding="cp1252"'):
            read_csv(path, "y")
        with pytest.raises(DataError, match="cannot be read as CSV in utf-16"):
            read_csv(path, "y", encoding="utf-16")
        path.write_bytes(b"\x28\xb5\x2f\xfd" + b"x" * 20)
        with pytest.raises(DataError, match="is compressed with zstd; unpack it to read it in cp1252"):
            read_csv(path, "y", encoding="cp1252")

    @pytest.mark.parametrize(
        ("wrong", "text"),
        [
            ({"separator": ";;"}, "`separator` must be one character"),
            ({"separator": ""}, "`separator` must be one character"),
            ({"separator": "ä"}, "`separator` must be one character"),
            ({"separator": 7}, "`separator` must be one character"),
            ({"decimal": ";"}, '`decimal` must be "." or ","'),
            ({"decimal": ",", "separator": ","}, "`separator` and `decimal` are both ','"),
            ({"encoding": "klingon"}, "`encoding` must be one that Python knows"),
            ({"encoding": "zlib_codec"}, "`encoding` must be one that Python knows"),
            ({"encoding": None}, "`encoding` must be one that Python knows"),
        ],
    )
    def test_wrong_options(self, write, wrong, text):
        with pytest.raises(ParameterError, match=re.escape(text)):
            read_csv(write("a,y\n1,2\n"), "y", **wrong)


class TestMostlyMissing:
    TABLE = pl.DataFrame(
        {
            "f": [None, None, None, 1.5],
            "i": [None, None, 3, 4],
            "s": pl.Series([None, None, None, "x"]),
            "o": pl.Series([None, "lo", None, None], dtype=pl.Enum(["lo", "hi"])),
            "d": pl.Series([1, None, None, None]).cast(pl.Int32).cast(pl.Date),
            "nan": [float("nan"), float("nan"), float("nan"), 1.0],
            "marks": ["NA", "null", "N/A", "1"],
            "full": [1, 2, 3, 4],
            "y": ["a", "b", "a", "b"],
        }
    )

    @pytest.mark.parametrize(
        ("most", "kept"),
        [
            (None, ["f", "i", "s", "o", "d", "nan", "marks", "full"]),
            (1, ["f", "i", "s", "o", "d", "nan", "marks", "full"]),
            (0.75, ["f", "i", "s", "o", "d", "nan", "marks", "full"]),
            (0.7, ["i", "full"]),
            (np.float64(0.5), ["i", "full"]),
            (0.49, ["full"]),
            (0, ["full"]),
        ],
    )
    def test_columns_are_left_out(self, most, kept, tmp_path):
        assert Dataset(self.TABLE, "y", max_missing=most).schema.feature_names == kept
        self.TABLE.write_parquet(tmp_path / "t.parquet")
        self.TABLE.write_ipc(tmp_path / "t.arrow")
        self.TABLE.fill_nan(None).write_csv(tmp_path / "t.csv")
        for read, name in ((read_parquet, "t.parquet"), (read_ipc, "t.arrow"), (read_csv, "t.csv")):
            assert read(tmp_path / name, "y", max_missing=most).schema.feature_names == kept

    def test_arrays(self):
        X = np.array([[np.nan, 1.0, np.nan], [np.nan, 2.0, 3.0]])
        for given in (X, X.tolist(), X.astype(object), np.asfortranarray(X)):
            assert Dataset.from_arrays(given, [0, 1], max_missing=0.7).schema.feature_names == ["x1", "x2"]
        assert Dataset.from_arrays(np.ones((2, 2), dtype=int), max_missing=0).n_features == 2
        assert Dataset.from_arrays(X[:0], max_missing=0).n_features == 3

    def test_like_says_which_columns_there_are(self):
        like = Dataset(self.TABLE, "y", max_missing=0.7)
        gone = self.TABLE.with_columns(i=pl.lit(None, dtype=pl.Int64))
        assert Dataset(gone, "y", like=like, max_missing=0.1).schema == like.schema

    @pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan"), "0.7", True, [0.7]])
    def test_other_shares(self, wrong):
        with pytest.raises(ParameterError, match="`max_missing` must be a share of rows from 0 to 1, or None, got"):
            Dataset(self.TABLE, "y", max_missing=wrong)
        with pytest.raises(ParameterError, match="`max_missing` must be"):
            Dataset.from_arrays(np.eye(2), max_missing=wrong)
