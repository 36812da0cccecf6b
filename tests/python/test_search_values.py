"""What the search makes of values: dates, large numbers, missing and unseen ones, tables like another."""

import datetime as dt
import pickle

import numpy as np
import polars as pl
import pytest

import lattree
from helpers import ALL, UNSEEN, train
from lattree import Binarizer, DataError, Dataset, OptimalTreeSearch


class TestValues:
    def test_dates_are_printed_as_dates(self):
        days = [dt.date(2020, 1, 1), dt.date(2020, 1, 3), dt.date(1969, 12, 30), None]
        result = train({"when": days, "y": [0, 1, 0, 1]}, max_depth=1)
        assert result.tests == ["when <= 1994-12-31", "when <= 2020-01-02", "when is missing"]
        assert result.tree.to_text() == "when <= 2020-01-02: 0 (2)\nwhen > 2020-01-02 or missing: 1 (2)"
        assert [str(condition) for condition in result.tree.rules()[0].conditions] == ["when <= 2020-01-02"]

    @pytest.mark.parametrize("unit", ["ms", "us", "ns"])
    def test_times_are_printed_as_times(self, unit):
        times = pl.Series([dt.datetime(2020, 1, 1, 12), dt.datetime(2020, 1, 1, 13)]).cast(pl.Datetime(unit))
        result = train({"when": times, "y": [0, 1]}, max_depth=1)
        (test,) = result.tests
        assert test.startswith("when <= 2020-01-01")
        assert "12:30:00" in test
        assert result.tree.predict({"when": times}).to_list() == [0, 1]

    def test_huge_integers_are_told_apart(self):
        values = [2**62, 2**62 + 1, 2**62 + 2, -(2**63), 2**63 - 1]
        result = train({"i": values, "y": [0, 1, 0, 1, 1]}, max_depth=4)
        assert result.objective == 0
        assert f"i <= {2**62}" in result.tests
        assert f"i <= {2**62 + 1}" in result.tests
        assert result.tree.predict({"i": values}).to_list() == [0, 1, 0, 1, 1]

    def test_infinities_are_ordinary_values(self):
        values = [float("-inf"), -1.0, 0.0, -0.0, float("inf"), 1e308, -1e308]
        y = [0, 1, 0, 0, 1, 0, 1]
        result = train({"f": values, "y": y}, max_depth=3)
        assert result.objective == 0
        assert len(result.tests) == 5, "zero is zero, whatever its sign"
        assert result.tree.predict({"f": values}).to_list() == y
        again = lattree.Tree.from_json(result.tree.to_json())
        assert again.predict({"f": values}).to_list() == y

    def test_neighbouring_floats_are_told_apart(self):
        below = np.nextafter(1.0, 0.0)
        values = [below, 1.0, 5e-324, 0.0]
        result = train({"f": values, "y": [0, 1, 1, 0]}, max_depth=2)
        assert result.objective == 0
        assert result.tree.predict({"f": values}).to_list() == [0, 1, 1, 0]

    def test_enums_are_cut_in_their_order(self):
        sizes = pl.Enum(["S", "M", "L", "never"])
        column = pl.Series(["L", "S", "M", None, "L"], dtype=sizes)
        result = train({"size": column, "y": [1, 0, 1, 0, 1]}, max_depth=2)
        assert result.tests == ["size <= S", "size <= M", "size is missing"]
        assert result.tree.features == ["size"]
        never = result.tree.predict({"size": pl.Series(["never", "M"], dtype=sizes)})
        assert never.to_list() == [1, 1]

    def test_nominal_subsets_need_one_node_where_levels_need_two(self):
        table = {"c": list("abcde") * 2, "y": [1, 0, 1, 0, 1] * 2}
        subsets = Binarizer(nominal="subsets")
        assert train(table, max_depth=1).objective == 2
        result = train(table, max_depth=1, binarizer=subsets)
        assert result.objective == 0
        assert result.tree.to_text() == "c in {b, d}: 0 (4)\nc not in {b, d} or missing: 1 (6)"
        conditions = [str(condition) for rule in result.tree.rules() for condition in rule.conditions]
        assert conditions == ["c in {b, d}", "c not in {b, d} or missing"]
        assert result.tests[:5] == [f"c is {level}" for level in "abcde"]
        assert len(result.tests) == 5 + 10
        assert result.tree.predict({"c": ["d", "e"]}).to_list() == [0, 1]

    def test_too_many_levels_for_subsets(self):
        data = Dataset({"c": [str(i) for i in range(11)]}, [i == 7 for i in range(11)])
        with pytest.raises(DataError, match=r'column "c" has 11 levels; nominal="subsets" .* at most 10'):
            OptimalTreeSearch(binarizer=Binarizer(nominal="subsets")).run(data)
        assert OptimalTreeSearch().run(data).objective == 0


class TestMissing:
    """A value that is missing fails every value test, where it did so in training; else it goes with the many."""

    values = (1.0, 2.0, 3.0, 4.0, 5.0)

    def test_trained_without(self):
        few_above = train({"x": self.values, "y": [0, 0, 0, 1, 1]}, max_depth=1).tree
        assert few_above.predict({"x": [None, float("nan"), 4.5]}).to_list() == [0, 0, 1]
        few_below = train({"x": self.values, "y": [0, 0, 1, 1, 1]}, max_depth=1).tree
        assert few_below.predict({"x": [None, 1.5]}).to_list() == [1, 0]
        tie = train({"x": self.values[:4], "y": [0, 0, 1, 1]}, max_depth=1).tree
        assert tie.predict({"x": [None]}).to_list() == [0], "the first of equals"

    def test_trained_with(self):
        result = train({"x": [*self.values, None], "y": [0, 0, 0, 0, 1, 1]}, max_depth=1)
        assert (result.objective, result.tree.to_text()) == (0, "x <= 4.5: 0 (4)\nx > 4.5 or missing: 1 (2)")
        assert result.tree.predict({"x": [None, 1]}).to_list() == [1, 0]

    def test_own_test(self):
        table = {"x": [*self.values, None, None], "y": [0, 0, 0, 0, 0, 1, 1]}
        result = train(table, max_depth=1)
        assert result.tree.to_text() == "x is missing: 1 (2)\nx is known: 0 (5)"
        assert result.tree.predict({"x": [None, 3.0, float("nan")]}).to_list() == [1, 0, 1]
        without = train(table, max_depth=1, binarizer=Binarizer(missing="fails"))
        assert "x is missing" not in without.tests
        assert without.objective == 1

    def test_levels(self):
        table = {"c": ["a", "a", "a", "b", None], "y": [0, 0, 0, 1, 1]}
        result = train(table, max_depth=1)
        assert result.tree.predict({"c": ["a", None, "b"]}).to_list() == [0, 1, 1]
        known = train({"c": ["a", "a", "a", "b"], "y": [0, 0, 0, 1]}, max_depth=1)
        assert known.tree.predict({"c": [None]}).to_list() == [0]

    def test_missing_everywhere_in_one_class(self, errors, mixed):
        gone = mixed.with_columns(pl.when(pl.col("y") == "no").then("length").alias("length"))
        data = Dataset(gone, "y")
        result = OptimalTreeSearch(max_depth=1, binarizer=ALL).run(data)
        assert result.objective == errors(data, result.tree) == gone.filter(y="no")["length"].null_count()


class TestUnseen:
    #: `c is a` is asked; its heavier branch is yes, while a missing value fails.
    table = pl.DataFrame({"c": ["a", "a", "a", "b", None], "y": [0, 0, 0, 1, 1]})

    @UNSEEN
    @pytest.mark.parametrize(("unseen", "expected"), [("majority", 0), ("missing", 1)])
    def test_policy(self, unseen, expected):
        tree = train(self.table, max_depth=1, unseen=unseen).tree
        assert tree.to_text() == "c is a: 0 (3)\nc is not a or missing: 1 (2)"
        assert tree.unseen == unseen
        for same in (tree, lattree.Tree.from_json(tree.to_json()), pickle.loads(pickle.dumps(tree))):
            assert same.predict({"c": ["z", "", "b", None]}).to_list() == [expected, expected, 1, 1]
            assert same.predict(Dataset({"c": ["z", "a"]})).to_list() == [expected, 0]

    def test_error_names_column_row_level(self):
        tree = train(self.table, max_depth=1, unseen="error").tree
        for method in (tree.predict, tree.predict_proba, tree.apply):
            with pytest.raises(DataError, match=r'column "c" has the unseen level "z" at row 1; known .*"a", "b"'):
                method({"c": ["a", "z"]})
        assert tree.predict({"c": ["b", None]}).to_list() == [1, 1]

    def test_trees_of_other_policies_differ(self):
        trees = {train(self.table, max_depth=1, unseen=unseen).tree for unseen in ("majority", "missing", "error")}
        assert len(trees) == 3

    @UNSEEN
    def test_a_search_does_not_learn_from_unseen_levels(self):
        other = Dataset(pl.DataFrame({"c": ["a", "z"], "y": [0, 1]}), like=Dataset(self.table, "y"))
        with pytest.raises(DataError, match=r'column "c" has the unseen level "z" at row 1'):
            OptimalTreeSearch().run(other)


class TestLike:
    def test_a_second_table_is_searched_in_the_terms_of_the_first(self, mixed):
        data = Dataset(mixed, "y")
        tree = OptimalTreeSearch(max_depth=2).run(data).tree
        other = Dataset(mixed.select(reversed(mixed.columns)).with_columns(extra=1), like=data)
        assert other.schema == data.schema
        result = OptimalTreeSearch(max_depth=2).run(other)
        assert result.tree == tree
        assert result.tree.predict(other).equals(tree.predict(data))
        for like in (data.schema, tree):
            assert Dataset(mixed, like=like).schema == data.schema

    def test_a_part_offers_only_its_own_levels(self, mixed):
        data = Dataset(mixed, "y")
        part = Dataset(mixed.filter(pl.col("color") != "red"), like=data)
        assert "color is red" in ALL.tests(data)
        assert "color is red" not in ALL.tests(part)
        assert OptimalTreeSearch(max_depth=1).run(part).tree.schema == data.schema

    def test_floats_in_place_of_integers_predict_but_do_not_teach(self):
        data = Dataset({"i": [1, 2, 3, 4], "y": [0, 0, 1, 1]}, "y")
        tree = OptimalTreeSearch(max_depth=1).run(data).tree
        floats = Dataset({"i": [1.5, 2.0, 2.5, float("inf"), None], "y": [0] * 5}, like=data)
        assert tree.predict(floats).to_list() == [0, 0, 1, 1, 0]
        with pytest.raises(DataError, match='column "i" is a column of floats; expected integers'):
            OptimalTreeSearch().run(floats)
