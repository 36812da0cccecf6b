"""Arrays of numbers and booleans, which the compiled module reads itself, against the same columns through polars."""

import numpy as np
import polars as pl
import pytest

from lattree import DataError, Dataset, GreedyTreeSearch, OptimalTreeSearch

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
DTYPES = ["?", *INTEGERS, "f4", "f8"]
ROWS, COLUMNS = 300, 5


def table(dtype, shape=(ROWS, COLUMNS)):
    """Cells of a dtype, its extremes and oddities among them; the last two columns have one value and two."""
    rng = np.random.default_rng(7)
    kind = np.dtype(dtype).kind
    if kind == "f":
        info = np.finfo(dtype)
        pool = [0.0, -0.0, 1.0, -1.5, 0.1, np.nan, np.inf, -np.inf, info.max, info.min, info.smallest_subnormal]
    elif kind == "b":
        pool = [False, True]
    else:
        info = np.iinfo(dtype)
        pool = [0, 1, 2, info.min, info.max if dtype != "u8" else 2**63 - 1]
    cells = rng.choice(np.array(pool, dtype=dtype), shape)
    if len(cells):
        cells[:, -1:] = cells[0, 0]
        cells[:, -2:-1] = rng.choice(np.array([0, 1], dtype=dtype), (len(cells), 1))
    return cells


def same(given, by_columns):
    """Whether two datasets are equal in all that can be seen."""
    (left, left_schema), (right, right_schema) = given.__reduce__()[1], by_columns.__reduce__()[1]
    assert left_schema == right_schema
    assert left.n_rows == right.n_rows
    assert len(left.columns) == len(right.columns)
    for a, b in zip(left.columns, right.columns, strict=True):
        assert (a.name, a.kind, a.dtype, a.levels, a.unseen) == (b.name, b.kind, b.dtype, b.levels, b.unseen)
        assert a.values.dtype == b.values.dtype
        assert a.values.tobytes() == b.values.tobytes() or np.array_equal(a.values, b.values, equal_nan=True)
        assert not np.signbit(a.values[a.values == 0]).any() if a.kind == "float" else True
        assert a.missing is None
        assert b.missing is None
    assert given.to_polars().equals(by_columns.to_polars(), null_equal=True)
    assert given.to_polars().schema == by_columns.to_polars().schema


def by_columns(X, y=None, **options):
    return Dataset({f"x{index}": X[:, index] for index in range(X.shape[1])}, y, **options)


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: X[::-1, ::-1],
    "broadcast": lambda X: np.broadcast_to(X[3], X.shape),
    "one row": lambda X: X[:1],
    "one column": lambda X: X[:, :1],
    "block and one": lambda X: X[:129],
    "no rows": lambda X: X[:0],
    "no columns": lambda X: X[:, :0],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_dtype_and_layout(dtype, layout):
    X = LAYOUTS[layout](table(dtype))
    y = np.arange(len(X)) % 3
    if layout == "no columns":  # a mapping without columns has no rows of its own
        data = Dataset.from_arrays(X, y)
        assert (data.n_rows, data.n_features) == (ROWS, 0)
    else:
        same(Dataset.from_arrays(X, y), by_columns(X, y))
    X = X.copy()
    before = X.tobytes()
    X.setflags(write=False)
    Dataset.from_arrays(X, y)
    assert X.tobytes() == before


def test_the_array_is_copied():
    X = table("i4")
    data = Dataset.from_arrays(X)
    before = data.to_polars()
    X[:] = 7
    assert data.to_polars().equals(before)


@pytest.mark.parametrize("dtype", ["i4", "u8", "f8", "?"])
def test_other_arrays_are_read_as_before(dtype, tmp_path):
    X = table(dtype, (10, 3))
    expected = by_columns(X)
    unaligned = np.zeros((10, 3 * X.itemsize + 1), dtype="u1")[:, 1:].view(dtype) if X.itemsize == 1 else None
    if unaligned is None:
        raw = np.zeros(X.nbytes + 1, dtype="u1")[1:].view(dtype)
        unaligned = raw.reshape(X.shape)
        assert not unaligned.flags.aligned
    unaligned[:] = X
    same(Dataset.from_arrays(unaligned[:, :3]), expected)
    record = np.zeros((10, 3), dtype=np.dtype([("a", "i1"), ("b", dtype)]))  # packed: odd strides
    record["b"] = X
    same(Dataset.from_arrays(record["b"]), expected)
    mapped = np.memmap(tmp_path / "x", dtype=dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    same(Dataset.from_arrays(mapped), expected)
    same(Dataset.from_arrays(X.astype(X.dtype.newbyteorder(">"))), expected)
    same(Dataset.from_arrays([*X]), expected)
    masked = np.ma.array(X, mask=np.zeros(X.shape, dtype=bool))
    same(Dataset.from_arrays(masked), expected)
    masked[2, 1] = np.ma.masked
    assert Dataset.from_arrays(masked).to_polars()["x1"][2] is None
    objects = Dataset.from_arrays(X.astype(object)).to_polars()
    assert objects.rows() == expected.to_polars().rows() or dtype == "f8"  # NaN is not NaN


def test_half_floats_and_long_doubles():
    for dtype in (np.float16, np.longdouble):
        X = np.array([[1.5], [np.inf]], dtype=dtype)
        assert Dataset.from_arrays(X).to_polars()["x0"].to_list() == [1.5, np.inf]


def test_booleans_of_other_bytes():
    X = np.array([[0, 1], [2, 255]], dtype="u1").view("?")
    assert Dataset.from_arrays(X).to_polars().rows() == [(False, True), (True, True)]


def test_integers_beyond_64_bits_are_named():
    X = np.array([[1, 2], [3, 2**63]], dtype="u8")
    with pytest.raises(DataError, match='"x1" is 9223372036854775808 at row 1; integers must fit 64 bits with a sign'):
        Dataset.from_arrays(X, [0, np.nan])
    # As a label it is no feature.
    with pytest.raises(DataError, match='the target "x1" is 9223372036854775808 at row 1'):
        Dataset.from_arrays(X, "x1")


def test_errors_are_those_of_columns():
    X = table("i4")
    for call, text in [
        (lambda: Dataset.from_arrays(X[:, 0]), r"X has the shape \(300,\); expected two dimensions"),
        (lambda: Dataset.from_arrays(X[None]), r"X has the shape \(1, 300, 5\); expected two dimensions"),
        (lambda: Dataset.from_arrays(X, None, ["a"]), "there are 1 feature names, but X has 5 columns"),
        (lambda: Dataset.from_arrays(X, None, list("abcda")), 'two columns are named "a"'),
        (lambda: Dataset.from_arrays(X, [1, 2]), "the target has 2 rows, the table has 300"),
        (lambda: Dataset.from_arrays(X, "z"), '`target` names "z", which is no column; the columns are "x0", "x1"'),
        (lambda: Dataset.from_arrays(X, nominal=["z"]), '`nominal` names "z", which is no column'),
        (lambda: Dataset.from_arrays(X, pl.Series("x1", X[:, 1])), 'the target "x1" is also a column of the table'),
        (lambda: Dataset.from_arrays(X, counts=X[:, 0]), "the count at row"),
        (lambda: Dataset.from_arrays(X.astype("O"), [[1, 2]] * 300), "the target|expected"),
    ]:
        with pytest.raises(DataError, match=text):
            call()


def test_names_roles_and_kinds():
    X = np.abs(table("i2").astype("i4"))
    names = ["", "b", "c", "d", 5]
    frame = pl.DataFrame({str(name): X[:, index] for index, name in enumerate(names)})
    same(Dataset.from_arrays(X, "c", names), Dataset(frame, "c"))
    same(Dataset.from_arrays(X, "c", names, counts="b", weight=5), Dataset(frame, "c", counts="b", weight="5"))
    same(Dataset.from_arrays(X, "c", names, nominal="b"), Dataset(frame, "c", nominal="b"))
    same(Dataset.from_arrays(X, "c", names, ordinal=["d"]), Dataset(frame, "c", ordinal=["d"]))
    y = pl.Series("b", np.arange(ROWS) % 2)
    same(Dataset.from_arrays(X, y, names), Dataset(frame, y))
    like = Dataset(frame.select("d", "b"), frame["c"])
    same(Dataset.from_arrays(X[:, [3, 1]], like=like), Dataset(frame.select("d", "b"), like=like))


@pytest.mark.parametrize("dtype", ["?", "i1", "f4"])
def test_search_and_prediction(dtype):
    X = table(dtype)
    y = np.arange(ROWS) % 3 == 0
    results = [OptimalTreeSearch(max_depth=2).run(data) for data in (Dataset.from_arrays(X, y), by_columns(X, y))]
    assert results[0].tree == results[1].tree
    assert results[0].tests == results[1].tests
    assert results[0].stats == results[1].stats
    predicted = results[0].tree.predict(X)
    frame = pl.DataFrame({f"x{index}": X[:, index] for index in range(5)})
    assert (predicted == results[0].tree.predict(frame).to_numpy()).all()


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        ([3, -1, 3, 7], "i1"),
        ([-128, 127, 0, 127], "i1"),
        ([5, 0, 2**40, 5], "i8"),
        ([-(2**63), 2**63 - 1, 0, 0], "i8"),
        ([1, 0, 2**63 - 1, 1], "u8"),
        ([True, False, True, True], "?"),
        ([True, True, True, True], "?"),
        ([2.0, -0.0, 0.0, 5.0], "f8"),
        (["b", "a", "", "b"], "U"),
    ],
)
def test_labels(labels, dtype):
    y = np.array(labels, dtype=dtype)
    data = Dataset.from_arrays(np.zeros((4, 1)), y)
    assert data.schema.classes == sorted(set(labels))
    assert data.target.to_list() == labels
    assert data.target.dtype == pl.Series(y).dtype


@pytest.mark.parametrize("width", [3, 100])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8", "int32", "uint32", "int64"])
def test_arrays_predict_as_the_datasets_made_of_them(dtype, width):
    random = np.random.default_rng(width)
    learn = random.integers(0, 100, (2000, width)).astype(dtype)
    noise = random.integers(0, 2, 2000)
    tree = GreedyTreeSearch(threads=1).run(Dataset.from_arrays(learn, noise)).tree
    assert len(tree.features) > 0.7 * width
    cells = random.integers(0, 100, (600, width)).astype(dtype)
    if dtype.startswith("float"):
        cells = cells / np.asarray(3, dtype)
        cells[random.random(cells.shape) < 0.05] = np.nan
    data = Dataset.from_arrays(cells, like=tree)
    doubled = np.repeat(cells, 2, axis=1)
    for array in (cells, np.asfortranarray(cells), doubled[:, ::2], cells.astype(cells.dtype.newbyteorder(">"))):
        assert np.array_equal(tree.predict(array), tree.predict(data))
        assert np.array_equal(tree.apply(array), tree.apply(data))
        assert np.array_equal(tree.predict_proba(array), tree.predict_proba(data))
    assert tree.predict(cells[:0]).tolist() == []
    assert tree.predict(cells[7:8]).tolist() == tree.predict(data.take([7])).to_list()
    with pytest.raises(DataError, match=f"X has {width - 1} columns"):
        tree.predict(cells[:, 1:])
