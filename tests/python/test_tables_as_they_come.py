"""Tables as people have them: booleans in all spellings, levels never seen, many classes, sparse arrays, lists."""

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from typer.testing import CliRunner

from lattree import DataError, Dataset, GreedyTreeSearch, read_csv
from lattree.cli import app


@pytest.fixture
def write(tmp_path):
    def write(text, name="table.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return path

    return write


BOOLEANS = {
    "booleans": [True, False, True, False],
    "words": ["True", "False", "True", "False"],
    "lower": ["true", "false", "true", "false"],
    "upper": ["TRUE", "FALSE", "TRUE", "FALSE"],
    "digits": ["1", "0", "1", "0"],
    "integers": [1, 0, 1, 0],
    "floats": [1.0, 0.0, 1.0, 0.0],
    "categories": pl.Series(["True", "False", "True", "False"], dtype=pl.Categorical),
    "pandas": pd.Series([True, False, True, False], dtype="boolean"),
}


class TestBooleans:
    @pytest.mark.parametrize("trained", BOOLEANS)
    @pytest.mark.parametrize("given", BOOLEANS)
    def test_fault_l_all_spellings_match(self, trained, given, write):
        table = {"b": BOOLEANS[trained], "y": ["p", "q", "p", "q"]}
        levels = GreedyTreeSearch().run(Dataset(table, "y", nominal=["b"])).tree
        assert levels.predict({"b": BOOLEANS[given]}).to_list() == ["p", "q", "p", "q"]
        tree = GreedyTreeSearch().run(Dataset(table, "y")).tree
        assert tree.predict({"b": BOOLEANS[given]}).to_list() == ["p", "q", "p", "q"]
        cells = BOOLEANS[given].to_list() if hasattr(BOOLEANS[given], "to_list") else BOOLEANS[given]
        path = write("b\n" + "".join(f"{cell}\n" for cell in cells))
        if given != "floats" or trained in ("booleans", "pandas", "integers", "floats"):
            assert tree.predict(read_csv(path, like=tree)).to_list() == ["p", "q", "p", "q"]

    @pytest.mark.parametrize("trained", ["booleans", "words", "digits", "pandas"])
    def test_missing_ones(self, trained):
        like = Dataset({"b": BOOLEANS[trained]})
        for given in ([True, None], ["1", None], [1.0, float("nan")], ["TRUE", None]):
            cells = Dataset({"b": given}, like=like).to_polars()["b"].to_list()
            assert str(cells[0]).lower() in ("true", "1")
            assert cells[1] is None

    @pytest.mark.parametrize(
        ("given", "row"), [(["yes", "no"], 0), ([1, 2], 1), ([0.5, 1], 0), (["true", "t"], 1), (["1", "2"], 1)]
    )
    def test_what_is_no_boolean_is_an_error(self, given, row):
        like = Dataset({"b": [True, False]})
        with pytest.raises(DataError, match=rf'column "b" is .* at row {row}; expected true or false'):
            Dataset({"b": given}, like=like)
        with pytest.raises(DataError, match='column "b" is Date; expected true or false'):
            Dataset({"b": pl.Series(["2020-01-01"]).str.to_date()}, like=like)

    def test_other_levels_are_not_taken_for_booleans(self):
        like = Dataset({"k": ["True", "true", "1"]})
        with pytest.warns(UserWarning, match='column "k" is "TRUE" in 1 row'):
            assert Dataset({"k": ["TRUE"]}, like=like).to_polars()["k"].to_list() == ["TRUE"]
        with pytest.raises(DataError, match='the level is written "True" in the schema'):
            Dataset({"k": [True]}, like=Dataset({"k": ["True", "x"]}))


class TestUnseenLevels:
    @pytest.fixture
    def tree(self):
        table = {"color": ["red", "red", "blue"], "size": ["S", "M", "M"], "other": ["x", "x", "y"], "y": list("aab")}
        return GreedyTreeSearch().run(Dataset(table, "y")).tree

    def test_one_warning_names_column_level_and_rows(self, tree):
        assert tree.features == ["color"]
        given = {"color": ["violet", "red", "violet", "mauve", None], "other": ["z"] * 5}
        for ask in (tree.predict, tree.predict_proba, tree.apply):
            with pytest.warns(UserWarning, match='column "color" is ') as caught:
                ask(given)
            assert len(caught) == 1
            assert str(caught[0].message) == (
                'levels that were not there in training: column "color" is "mauve" in 1 row, '
                'column "color" is "violet" in 2 rows; they take the branch that most of the training rows took'
            )
            assert caught[0].filename == __file__

    def test_known_levels_do_not_warn(self, tree):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tree.predict({"color": ["red", "blue", None], "other": ["z"] * 3})

    def test_a_dataset_warns_when_it_is_mapped(self, tree):
        given = {"color": ["violet"] * 1234, "size": "S", "other": "x"}
        with pytest.warns(
            UserWarning,
            match='"violet" in 1,234 rows; no test for a level holds for them, and trees treat them',
        ):
            data = Dataset(pl.DataFrame(given), like=tree)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tree.predict(data)

    def test_policies(self):
        data = Dataset({"k": ["a", "a", "b"], "y": ["p", "p", "q"]}, "y")
        missing = GreedyTreeSearch(unseen="missing").run(data).tree
        with pytest.warns(UserWarning, match="they are treated as missing"):
            missing.predict({"k": ["c"]})
        error = GreedyTreeSearch(unseen="error").run(data).tree
        with pytest.raises(DataError, match='"c"'):
            error.predict({"k": ["c"]})

    def test_many_levels_are_counted(self):
        like = Dataset({"k": ["a", "b"]})
        with pytest.warns(UserWarning, match=r'column "k" is "l09" in 1 row and 20 more; '):
            Dataset({"k": [f"l{index:02}" for index in range(30)]}, like=like)


class TestManyClasses:
    INTEGERS = [*range(1, 29)] * 3

    @pytest.mark.parametrize(
        "labels", [INTEGERS, np.array(INTEGERS), np.array(INTEGERS, dtype="u1"), [float(label) for label in INTEGERS]]
    )
    def test_fault_m_an_integer_target_of_many_values_warns(self, labels, write):
        table = {"x": list(range(len(labels)))}
        with pytest.warns(
            UserWarning, match='has 28 different whole numbers.*task="classes".*task="numbers"'
        ) as caught:
            data = Dataset(table, labels)
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert len(data.schema.classes) == 28
        with pytest.warns(UserWarning, match="28 different whole numbers"):
            Dataset.from_arrays(np.eye(len(labels)), labels)
        path = write("x,rings\n" + "".join(f"1,{label}\n" for label in labels))
        with pytest.warns(UserWarning, match='the target "rings" has 28 different'):
            read_csv(path, "rings")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for task in ("classes", "numbers"):
                assert Dataset(table, labels, task=task).schema.task == task
                assert read_csv(path, "rings", task=task).schema.task == task
            assert Dataset(table | {"y": labels}, "y", nominal=["y"]).schema.task == "classes"
            Dataset(table, labels, like=data)

    def test_few_values_and_words_do_not(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Dataset({"x": range(60)}, [*range(20)] * 3)
            Dataset({"x": range(60)}, [str(label) for label in range(60)])
            Dataset({"x": range(60)}, [label + 0.5 for label in range(60)])


class TestSparse:
    @pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
    @pytest.mark.parametrize("what", ["matrix", "array"])
    def test_fault_w_a_sparse_matrix_is_named(self, kind, what):
        X = getattr(scipy.sparse, f"{kind}_{what}")(np.eye(3))
        tree = GreedyTreeSearch().run(Dataset.from_arrays(X.toarray(), ["a", "b", "c"])).tree
        expected = rf"is a sparse {kind}_{what} of 3 x 3; pass what its \.toarray\(\) returns, of 72 bytes"
        for wrong in (lambda: Dataset(X, None), lambda: Dataset.from_arrays(X), lambda: tree.predict(X)):
            with pytest.raises(TypeError, match=expected):
                wrong()
        for wrong in (lambda: Dataset({"x": X}), lambda: Dataset.from_arrays(np.eye(3), X)):
            with pytest.raises(DataError, match=expected):
                wrong()

    def test_sparse_columns_of_pandas_work(self):
        frame = pd.DataFrame({"x": pd.arrays.SparseArray([0, 0, 5]), "f": pd.arrays.SparseArray([0.0, np.nan, 1.5])})
        assert Dataset(frame).to_polars().rows() == [(0, 0.0), (0, None), (5, 1.5)]


CELLS = [[1], [2], [3]]


class TestLists:
    @pytest.mark.parametrize(
        "table",
        [
            {"x": CELLS},
            {"x": [(1,), (2,), (3,)]},
            pl.DataFrame({"x": CELLS}),
            pl.DataFrame({"x": pl.Series(CELLS, dtype=pl.Array(pl.Int64, 1))}),
            pd.DataFrame({"x": CELLS}),
            pa.table({"x": CELLS}),
        ],
        ids=["dict", "tuples", "polars", "array", "pandas", "arrow"],
    )
    def test_fault_x12_columns_of_lists_are_not_unpacked(self, table):
        with pytest.raises(DataError, match=r'column "x" is (List|Array).*; expected numbers'):
            Dataset(table)

    def test_labels_in_one_column_are_one_value_per_row(self):
        for labels in (CELLS, np.array(CELLS), pd.DataFrame({"y": [1, 2, 3]}), pl.Series("y", CELLS)):
            assert Dataset({"x": [4, 5, 6]}, labels).target.to_list() == [1, 2, 3]
        assert Dataset({"x": np.array([[1], [2]])}).to_polars()["x"].to_list() == [1, 2]


@pytest.mark.parametrize(
    "part", [slice(None), slice(2), slice(None, None, -1), slice(-3, -1), slice(1, 99, 2), slice(7, 9)]
)
def test_fault_w_take_a_slice(part):
    data = Dataset({"x": [0, 1, 2, 3, 4], "y": list("abcde")}, "y")
    assert data.take(part).to_polars()["x"].to_list() == [0, 1, 2, 3, 4][part]
    with pytest.raises(TypeError, match="whole numbers or a slice"):
        data.take([True, False, True, False, True])
    with pytest.raises(TypeError):
        data.take(slice("a", None))


class TestCommandLine:
    def run(self, *arguments, code=0):
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert done.exit_code == code, done.output
        return done

    @pytest.fixture
    def table(self, write):
        rows = "".join(f"{value},5|{'-' if value % 3 else 'x'}|{'a' if value < 5 else 'é'}\n" for value in range(10))
        return write("n|k|y\nNA|-|a\n" + rows, encoding="cp1252")

    OPTIONS = ("--separator", "|", "--decimal", ",", "--encoding", "cp1252")

    def test_fault_k_options_of_every_command_that_reads(self, table):
        for command in ("optimal", "greedy", "distinct", "select"):
            self.run(command, table, "--target", "y", *self.OPTIONS)
        shown = self.run("describe", table, "--target", "y", *self.OPTIONS).stdout
        assert 'read as missing: "NA" in "n"' in shown
        assert "float" in shown
        shown = self.run("describe", table, *self.OPTIONS, "--null-values", "-", "--null-values", "NA").stdout
        assert "read as missing" not in shown
        assert '1 level: "x"' in shown
        shown = self.run("describe", table, *self.OPTIONS, "--null-values", "-", "--max-missing", "0.5").stdout
        assert " k " not in shown

    def test_a_second_file_is_read_alike(self, table):
        self.run("select", table, "--target", "y", "--search", table, "--max-missing", "0.9", *self.OPTIONS)

    def test_tabs_by_name(self, write):
        path = write("a;b\ty\n1\tp\n2\tq\n")
        for tab in ("tab", "\\t", "\t"):
            assert "a;b" in self.run("describe", path, "--target", "y", "--separator", tab).stdout

    def test_options_for_text_only(self, tmp_path):
        pl.DataFrame({"x": [1], "y": [2]}).write_parquet(tmp_path / "t.parquet")
        for source in (tmp_path / "t.parquet", "iris"):
            done = self.run("describe", source, "--null-values", "NA", code=2)
            assert "--null-values is for" in done.stderr
        self.run("describe", tmp_path / "t.parquet", "--max-missing", "0.5")

    def test_fault_m_warnings_are_one_line(self, write):
        path = write("x,rings\n" + "".join(f"{label},{label}\n" for label in range(28)))
        done = self.run("describe", path, "--target", "rings")
        assert done.stderr.startswith('warning: the target "rings" has 28 different whole numbers')
        assert done.stderr.count("\n") == 1
        assert self.run("describe", path, "--target", "rings", "--nominal", "rings").stderr == ""


def test_fault_t_what_the_guide_imports_is_in_all_extras():
    root = Path(__file__).parents[2]
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    lists = dict(re.findall(r"^(\w+) = \[(.*?)\][^\[\]]*?$", project, re.MULTILINE | re.DOTALL))
    extras = re.search(r'^all = \["lattree\[(.*)\]"\]$', project, re.MULTILINE)[1].split(",")
    wanted = "".join(lists[name] for name in ("dependencies", *extras))
    installed = {*re.findall(r'"([\w-]+)', wanted), "lattree", "pathlib"}
    guide = "\n".join(re.findall(r"```python\n(.*?)```", (root / "README.md").read_text(encoding="utf-8"), re.DOTALL))
    imported = set(re.findall(r"^\s*(?:import|from) (\w+)", guide, re.MULTILINE))
    if re.search(r"\.to_pandas\(|\.to_arrow\(", guide):
        imported.add("pyarrow")  # which polars imports then
    names = {"sklearn": "scikit-learn"}
    assert {names.get(name, name) for name in imported} <= installed
    assert re.search(r'^test = \[\s*"lattree\[all\]"', project, re.MULTILINE)
