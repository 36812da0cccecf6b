"""Parts of a table: every row once, classes in proportion, the same for the same seed, values and dtypes kept."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from lattree import DataError, Dataset, ParameterError, datasets


def numbered(n, classes=3, **options):
    """A table whose only column says which row it is; class c has about c + 1 times the rows of class 0."""
    labels = np.sort(np.arange(n) % (classes * (classes + 1) // 2))
    labels = np.searchsorted(np.cumsum(np.arange(1, classes + 1)), labels, side="right")
    order = np.random.default_rng(n).permutation(n)
    return Dataset({"row": np.arange(n), "y": labels[order]}, "y", **options)


def rows_of(data):
    return data.to_polars()["row"].to_list()


def class_counts(data):
    return np.bincount(data.to_polars()["y"].to_numpy(), minlength=len(data.schema.classes))


class TestSplit:
    @pytest.mark.parametrize("stratify", [True, False])
    @pytest.mark.parametrize("fraction", [0.0, 0.1, 0.25, 1 / 3, 0.5, 0.99, 1.0])
    @pytest.mark.parametrize("n", [1, 2, 7, 100, 101])
    def test_every_row_is_in_one_part(self, n, fraction, stratify):
        data = numbered(n)
        learn, test = data.split(fraction, stratify=stratify)
        assert sorted(rows_of(learn) + rows_of(test)) == list(range(n))
        assert rows_of(learn) == sorted(rows_of(learn)), "in the table's order"
        assert rows_of(test) == sorted(rows_of(test))
        assert len(test) == test.n_rows == round(n * fraction + 1e-9) or abs(len(test) - n * fraction) <= 0.5
        assert learn.schema == test.schema == data.schema

    @pytest.mark.parametrize("fraction", [0.1, 0.25, 1 / 3, 0.5])
    def test_stratified_parts_have_each_class_in_proportion(self, fraction):
        data = numbered(600, classes=5)
        for seed in range(10):
            _, test = data.split(fraction, seed=seed)
            assert (abs(class_counts(test) - class_counts(data) * fraction) < 1).all()
        spread = [class_counts(data.split(0.25, seed=seed, stratify=False)[1])[4] for seed in range(10)]
        assert len(set(spread)) > 2, "without stratification the shares vary"

    def test_seeds(self):
        data = numbered(200)
        first = rows_of(data.split(seed=1)[1])
        assert rows_of(data.split(seed=1)[1]) == first
        assert rows_of(data.split(0.25, seed=1, stratify=True)[1]) == first
        assert len({tuple(rows_of(data.split(seed=seed)[1])) for seed in range(20)}) == 20
        assert rows_of(data.split(seed=2**64 - 1)[1]) != first

    def test_the_same_on_every_platform_and_in_every_version(self):
        assert rows_of(numbered(20).split(0.3)[1]) == [0, 9, 10, 11, 12, 19]
        assert rows_of(numbered(20).split(0.3, seed=1, stratify=False)[1]) == [0, 3, 9, 13, 14, 17]

    def test_repetitions_and_weights_go_with_their_rows(self):
        counts, weight = np.arange(40) % 4, np.arange(40) / 8
        data = Dataset(numbered(40).to_polars(), "y", counts=counts, weight=weight)
        for part in data.split(0.4, seed=3):
            frame = part.to_polars()
            assert frame["counts"].to_list() == counts[frame["row"]].tolist()
            assert frame["weight"].to_list() == weight[frame["row"]].tolist()

    def test_without_classes(self):
        for target in (None, np.arange(10) + 0.5):
            learn, test = Dataset({"row": range(10)}, target).split(0.3)
            assert (len(learn), len(test)) == (7, 3)

    @pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan"), float("inf")])
    def test_fraction_out_of_range(self, fraction):
        with pytest.raises(ParameterError, match="`fraction` must be from 0 to 1, got"):
            numbered(5).split(fraction)

    def test_keywords_only(self):
        with pytest.raises(TypeError):
            numbered(5).split(0.5, 3)

    @pytest.mark.parametrize("call", [lambda data: data.split(seed=-1), lambda data: data.folds(-1)])
    def test_negative_whole_numbers_are_parameter_errors(self, call):
        with pytest.raises(ParameterError):
            call(numbered(5))


class TestFolds:
    @pytest.mark.parametrize(("n", "k"), [(2, 2), (10, 3), (100, 5), (101, 10), (12, 12)])
    @pytest.mark.parametrize("stratify", [True, False])
    def test_every_row_is_held_out_once(self, n, k, stratify):
        data = numbered(n)
        folds = data.folds(k, stratify=stratify)
        assert len(folds) == k
        assert sorted(row for _, held in folds for row in rows_of(held)) == list(range(n))
        for learn, held in folds:
            assert sorted(rows_of(learn) + rows_of(held)) == list(range(n))
            assert rows_of(learn) == sorted(rows_of(learn))
            assert learn.schema == held.schema == data.schema
        sizes = [len(held) for _, held in folds]
        assert max(sizes) - min(sizes) <= 1

    def test_stratified_folds_share_each_class_evenly(self):
        data = numbered(601, classes=4)
        held = np.array([class_counts(held) for _, held in data.folds(7, seed=5)])
        assert (held.max(axis=0) - held.min(axis=0) <= 1).all()

    def test_seeds(self):
        data = numbered(60)

        def dealt(**options):
            return [rows_of(held) for _, held in data.folds(**options)]

        assert dealt() == dealt(k=5, seed=0, stratify=True)
        assert dealt(seed=1) != dealt()
        assert len(data.folds()) == 5

    @pytest.mark.parametrize("k", [0, 1, 6])
    def test_k_out_of_range(self, k):
        with pytest.raises(ParameterError, match=rf"`k` must be from 2 to the number of rows, 5, got {k}"):
            numbered(5).folds(k)

    def test_a_rare_class_may_be_absent_from_a_fold_but_stays_in_the_schema(self):
        data = Dataset({"row": range(9), "y": [0] * 8 + [1]}, "y")
        for learn, held in data.folds(3):
            assert learn.schema.classes == held.schema.classes == [0, 1]


class TestTake:
    data = numbered(6)

    @pytest.mark.parametrize(
        ("rows", "expected"),
        [
            ([2, 0], [2, 0]),
            ([1, 1, 1], [1, 1, 1]),
            ([-1, -6], [5, 0]),
            ([], []),
            (range(3), [0, 1, 2]),
            (np.array([4, 3])[::-1], [3, 4]),
            (pl.Series([5]), [5]),
        ],
    )
    def test_rows(self, rows, expected):
        assert rows_of(self.data.take(rows)) == expected

    @pytest.mark.parametrize("row", [6, -7, 2**40])
    def test_a_row_that_is_not_there(self, row):
        with pytest.raises(IndexError, match=f"row {row} does not exist: the table has 6 rows"):
            self.data.take([0, row])

    @pytest.mark.parametrize("rows", [3, [[1]], "a", None])
    def test_no_list_of_rows(self, rows):
        with pytest.raises((TypeError, ValueError)):
            self.data.take(rows)

    @pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.uint8])
    def test_rows_of_any_integer_dtype(self, dtype):
        assert rows_of(self.data.take(np.array([2, 0], dtype=dtype))) == [2, 0]

    @pytest.mark.parametrize("rows", [[True, False, True, False, True, False], [1.5]])
    def test_flags_and_fractions_are_no_row_numbers(self, rows):
        with pytest.raises(TypeError):
            self.data.take(rows)


class TestSelect:
    def test_order_and_content(self, mixed):
        data = Dataset(mixed, "y", counts=[1] * len(mixed))
        part = data.select(["color", "length"])
        assert part.schema.feature_names == ["color", "length"]
        assert part.n_features == 2
        assert part.to_polars().drop("counts").equals(mixed.select("color", "length", "y"), null_equal=True)
        assert part.schema.classes == data.schema.classes
        assert data.select(data.schema.feature_names).schema == data.schema
        assert data.select([]).to_polars().columns == ["y", "counts"]

    def test_unknown_and_repeated_names(self, mixed):
        data = Dataset(mixed, "y")
        with pytest.raises(DataError, match='no column "colour"; the columns are "length"'):
            data.select(["colour"])
        with pytest.raises(DataError, match='no column "y"'):
            data.select(["y"])
        with pytest.raises(DataError, match='two columns are named "age"'):
            data.select(["age", "age"])
        assert data.select("age").schema.feature_names == ["age"]
        with pytest.raises(TypeError):
            data.select(3)


class TestToPolars:
    def test_values_and_dtypes_come_back_from_every_part(self, mixed):
        frame = mixed.with_columns(
            small=pl.Series(np.arange(len(mixed)) % 100, dtype=pl.Int8),
            single=pl.Series(np.arange(len(mixed)) / 3, dtype=pl.Float32),
            when=pl.datetime(2020, 1, 1, 1, 2, 3, time_zone="Europe/Berlin"),
            kept=pl.Series(["p", None] * (len(mixed) // 2), dtype=pl.Categorical),
            took=pl.Series([dt.timedelta(seconds=i) for i in range(len(mixed))]),
        )
        data = Dataset(frame, "y")
        features = [*(name for name in frame.columns if name != "y"), "y"]
        expected = frame.select(features)

        def check(part, rows):
            back = part.to_polars()
            assert back.schema == expected.schema
            assert back.equals(expected[rows], null_equal=True)

        everything = list(range(len(frame)))
        check(data, everything)
        check(data.take([7, 3, 3]), [7, 3, 3])
        for part in data.split(0.3, seed=1):
            rows = part.to_polars()["took"].dt.total_seconds().to_list()
            check(part, rows)
        check(data.select(features[:-1]), everything)

    @pytest.mark.parametrize("name", datasets.names())
    def test_there_and_back(self, name):
        data = datasets.load(name)
        again = Dataset(data.to_polars(), data.schema.target)
        assert again.schema == data.schema
        assert again.to_polars().equals(data.to_polars(), null_equal=True)
