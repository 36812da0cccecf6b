"""Names and types in calls: what is suggested, which argument an error is about, and earlier words."""

import inspect
import operator
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lattree
from lattree import Binarizer, DataError, Dataset, ParameterError, datasets, experiments

SEARCHES = [value for name, value in vars(lattree).items() if name.endswith("Search")]
DATA = Dataset({"x": [1, 2, 3, 4], "y": ["a", "a", "b", "b"]}, "y")
TREE = lattree.OptimalTreeSearch(max_depth=1).run(DATA).tree


def calls():
    """Every public class that can be made, function and method, with what it needs to be called."""
    for kind in [*SEARCHES, Binarizer]:
        yield kind, ()
    yield Dataset, ({"x": [1]},)
    yield Dataset.from_arrays, ([[1]],)
    yield from ((getattr(lattree, name), ("no such file",)) for name in ("read_csv", "read_parquet", "read_ipc"))
    for module in (datasets, experiments):
        yield from ((value, ()) for name in module.__all__ if inspect.isroutine(value := getattr(module, name)))
    for owner in (DATA, TREE, Binarizer(), *(kind() for kind in SEARCHES)):
        for name, member in vars(type(owner)).items():
            if not name.startswith("_") and callable(member):
                yield getattr(owner, name), ()


CALLS = [pytest.param(call, needed, id=call.__qualname__) for call, needed in calls()]


def keywords_of(call):
    return [name for name, p in inspect.signature(call).parameters.items() if p.kind is not p.VAR_KEYWORD]


@pytest.mark.parametrize(("call", "needed"), CALLS)
def test_fault_w_a_wrong_keyword_suggests_the_nearest(call, needed):
    known = keywords_of(call)
    with pytest.raises((TypeError, OSError)) as raised:
        call(*needed, quite_another_thing=1)
    if needed != ("no such file",):
        assert "got an unexpected keyword argument 'quite_another_thing'; it takes " in str(raised.value)
    for name in known[len(needed) :]:
        wrong = name[:-1] + name[-1] * 2
        with pytest.raises((TypeError, OSError)) as raised:
            call(*needed, **{wrong: 1})
        if needed != ("no such file",):
            assert str(raised.value).endswith(f"unexpected keyword argument {wrong!r}. Did you mean {name!r}?")


def test_fault_w_a_wrong_keyword_of_a_reader(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,p\n")
    for wrong, right in (("sep", "separator"), ("nominals", "nominal"), ("null_value", "null_values")):
        with pytest.raises(TypeError, match=rf"read_csv\(\) got .* '{wrong}'. Did you mean '{right}'\?"):
            lattree.read_csv(tmp_path / "t.csv", "y", **{wrong: ";"})


@pytest.mark.parametrize(
    ("call", "wrong", "right"),
    [
        (lattree.GreedyTreeSearch, "n_jobs", "threads"),
        (lattree.GreedyTreeSearch, "min_samples_leaf", "min_leaf"),
        (lattree.GreedyTreeSearch, "max_leaf_nodes", "max_leaves"),
        (lattree.OptimalTreeSearch, "timeout", "time_limit"),
        (DATA.split, "random_state", "seed"),
        (DATA.folds, "n_splits", "k"),
    ],
)
def test_fault_w_words_of_other_libraries(call, wrong, right):
    with pytest.raises(TypeError, match=f"Did you mean '{right}'"):
        call(**{wrong: 1})


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("value", [2.5, "big", True, np.True_, [1], {}, 1j], ids=str)
def test_fault_w_a_wrong_type_names_the_parameter(kind, value):
    numbers = {"max_depth", "max_nodes", "min_leaf", "min_cases", "min_branch", "min_gain", "max_leaves", "time_limit"}
    numbers |= {"memory_limit", "node_limit", "threads", "delta", "feature_penalty", "node_penalty", "max_features"}
    reals = {"min_gain", "time_limit", "delta", "feature_penalty", "node_penalty"}
    words = {"criterion", "nominal_splits", "missing", "unseen", "engine", "objective", "order", "error"}
    flags = {"ordered", "white_box"}
    for name in keywords_of(kind):
        if (name in numbers and not (name in reals and value == 2.5)) or (
            name in words | flags and not isinstance(value, (str, bool, np.bool_))
        ):
            with pytest.raises(TypeError, match=f"^`{name}` must be .*, got "):
                kind(**{name: value})


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: lattree.OptimalTreeSearch(max_depth=2.5), "`max_depth` must be a whole number, got 2.5"),
        (lambda: lattree.OptimalTreeSearch(max_depth=True), "`max_depth` must be a whole number, got True"),
        (lambda: lattree.OptimalTreeSearch(node_penalty="big"), "`node_penalty` must be a number, got 'big'"),
        (
            lambda: lattree.OptimalTreeSearch(binarizer="all"),
            "`binarizer` must be a Binarizer or None, got .* type str",
        ),
        (
            lambda: lattree.OptimalTreeSearch(objective=1),
            '`objective` must be one of "errors", "balanced_errors", "costs", or a lattree.Costs, got 1',
        ),
        (lambda: lattree.DistinctTreeSearch(ordered="no"), "`ordered` must be True or False, got 'no'"),
        (
            lambda: lattree.GreedyTreeSearch(class_weight={"a": "b"}),
            "`class_weight` must have numbers, got 'b' for 'a'",
        ),
        (lambda: Binarizer(max_tests=1.5), "`max_tests` must be a whole number, got 1.5"),
        (lambda: Binarizer(missing=False), '`missing` must be one of "own_test", "fails", got False'),
    ],
)
def test_fault_w_wrong_types_in_constructors(call, says):
    with pytest.raises(TypeError, match=says):
        call()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have notes from Python 3.11 on")
@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: DATA.split("half"), "fraction"),
        (lambda: DATA.split(seed=1.5), "seed"),
        (lambda: DATA.split(stratify="no"), "stratify"),
        (lambda: DATA.folds(2.5), "k"),
        (lambda: DATA.folds(True), "k"),
        (lambda: DATA.select(3), "features"),
        (lambda: TREE.to_text(max_depth=2.5), "max_depth"),
        (lambda: TREE.to_dot(max_depth=True), "max_depth"),
        (lambda: lattree.Tree.from_json(3), "text"),
        (lambda: lattree.OptimalTreeSearch().run(DATA, on_interrupt=3), "on_interrupt"),
    ],
)
def test_fault_w_wrong_types_in_methods(call, name):
    with pytest.raises(TypeError, match=f"^`{name}`"):
        call()


def test_errors_of_callbacks_are_not_touched():
    def callback(*_, **__):
        raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$"):
        experiments.compare(
            datasets.load("iris"), {"all": experiments.every_feature}, k=2, repeats=1, progress=callback
        )


@pytest.mark.parametrize("kind", [*SEARCHES, Binarizer])
def test_fault_w_positional_arguments_of_classes(kind):
    first = keywords_of(kind)[0]
    with pytest.raises(
        TypeError, match=rf"takes no positional arguments, got 1; name them, as in .*\({first}=\.\.\.\)"
    ):
        kind(3)


@pytest.mark.parametrize("kind", [lattree.OptimalTreeSearch, lattree.GreedyTreeSearch, lattree.DistinctTreeSearch])
def test_fault_w_run_with_a_table_and_a_target_says_what_to_do(kind):
    frame = pl.DataFrame({"x": [1, 2], "y": ["a", "b"]})
    for call in (
        lambda: kind().run(frame, "y"),
        lambda: kind().run(frame, target="y"),
        lambda: kind().run([[1], [2]], ["a", "b"]),
        lambda: kind().run([[1], [2]], y=["a", "b"]),
    ):
        with pytest.raises(TypeError, match=r"takes one Dataset.*run\(lattree.Dataset\(table, \"target\"\)\)"):
            call()
    with pytest.raises(TypeError, match=r"`data` must be a lattree.Dataset, got DataFrame; make one"):
        kind().run(frame)


def test_fault_w_choices_read_well():
    expected = '^`objective` must be one of "errors", "balanced_errors", "costs", got "gini"$'
    with pytest.raises(ParameterError, match=expected):
        lattree.OptimalTreeSearch(objective="gini")


@pytest.mark.parametrize("rows", [2, [[0, 1], [1, 2]]], ids=str)
def test_fault_w_take_of_what_is_no_list_of_rows(rows):
    with pytest.raises(TypeError, match="`rows` must be a sequence of whole numbers or a slice, got "):
        DATA.take(rows)


@pytest.mark.parametrize("value", ["zero", "0", "-1", "1.5", "4 threads"])
@pytest.mark.parametrize("kind", SEARCHES)
def test_fault_w_an_invalid_number_of_threads_in_the_environment(kind, value, monkeypatch):
    monkeypatch.setenv("LATTREE_NUM_THREADS", value)
    with pytest.raises(ParameterError, match=f'`LATTREE_NUM_THREADS` must be a whole number from 1 on.*"{value}"'):
        kind()
    kind(threads=2)
    for fine in ("", " ", "1", " 2 "):
        monkeypatch.setenv("LATTREE_NUM_THREADS", fine)
        kind()


def test_instruction_sets_are_named_by_the_environment():
    program = """
import lattree
data = lattree.datasets.load("vote")
for search in (lattree.OptimalTreeSearch, lattree.GreedyTreeSearch):
    try:
        print(search(max_depth=3).run(data).tree.to_json())
    except lattree.ParameterError as error:
        print(error)
"""

    def told(**environment):
        command = [sys.executable, "-c", program]
        return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True).stdout

    assert told(LATTREE_ISA="portable") == told(LATTREE_ISA="") == told()
    refused = told(LATTREE_ISA="avx3").splitlines()
    assert len(refused) == 2
    for line in refused:
        assert line.startswith('`LATTREE_ISA` must be "portable"')
        assert 'got "avx3"' in line


@pytest.mark.parametrize("kind", [kind for kind in SEARCHES if kind is not lattree.GreedyTreeSearch])
@pytest.mark.parametrize("target", ["numbers", None])
def test_fault_w_errors_name_no_other_search(kind, target):
    data = Dataset({"x": [1, 2], "y": [0.5, 1.5]}, "y" if target else None)
    calls = [kind().run, getattr(kind(), "count", kind().run)]
    if "error" in keywords_of(kind):
        calls.append(kind(error="training").run)
    for call in calls:
        with pytest.raises((DataError, ParameterError)) as raised:
            call(data)
        assert "GreedyTreeSearch" not in str(raised.value)


@pytest.mark.parametrize(
    "column", [[[1], [2]], [["a"], ["b"]], [(1,), (2,)], [np.array([1]), np.array([2])]], ids=lambda column: str(column)
)
def test_fault_w_lists_in_cells_are_not_unpacked(column):
    cells = np.empty(2, dtype=object)
    cells[:] = column
    for table in (pd.DataFrame({"s": cells, "y": [0, 1]}), {"s": cells, "y": [0, 1]}):
        with pytest.raises(DataError, match='column "s"'):
            Dataset(table, "y")
    assert Dataset({"x": [1, 2]}, [["a"], ["b"]]).schema.classes == ["a", "b"]  # labels of shape (n, 1)


def test_fault_u_rules_and_text_show_masses_alike():
    rules = [str(rule) for rule in TREE.rules()]
    assert rules == ["if x <= 2 or missing: a (2)", "if x > 2: b (2)"]
    assert str(TREE) == "x <= 2 or missing: a (2)\nx > 2: b (2)"
    leaf = lattree.OptimalTreeSearch(max_depth=0).run(DATA).tree
    assert (str(leaf), str(leaf.rules()[0])) == ("a (4/2)", "always: a (4/2)")


def test_fault_u_booleans_are_printed_alike():
    data = Dataset({"x": [1, 2, 3], "y": [False, True, True]}, "y")
    assert "2 classes: true (2), false (1)" in str(data)
    assert "false (1)" in str(lattree.OptimalTreeSearch(max_depth=1).run(data).tree)


class TestEarlierWords:
    def test_missing_false_is_now_called_fails(self):
        with pytest.warns(DeprecationWarning, match='`missing="false"` is now called "fails"') as warned:
            earlier = Binarizer(missing="false")
        assert warned[0].filename == __file__
        assert earlier == Binarizer(missing="fails")
        assert earlier.missing == "fails"

    def test_present_words_do_not_warn(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for missing in ("own_test", "fails"):
                assert pickle.loads(pickle.dumps(Binarizer(missing=missing))).missing == missing


def test_signatures_and_pickles_survive():
    for owner, name in ((lattree.OptimalTreeSearch, "run"), (lattree.Tree, "from_json"), (Dataset, "split")):
        method = getattr(owner, name)
        assert method.__qualname__ == f"{owner.__name__}.{name}"
        assert method.__doc__
        assert inspect.signature(method).parameters
    assert pickle.loads(pickle.dumps(TREE)) == TREE
    assert pickle.loads(pickle.dumps(lattree.read_csv)) is lattree.read_csv
    assert pickle.loads(pickle.dumps(TREE.predict))(DATA).to_list() == ["a", "a", "b", "b"]


def test_the_variable_is_named_at_the_command_line():
    done = subprocess.run(
        [sys.executable, "-m", "lattree", "optimal", "weather"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=os.environ | {"LATTREE_NUM_THREADS": "many"},
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: `LATTREE_NUM_THREADS` must be a whole number from 1 on")


def test_keywords_of_the_caller_are_left_alone():
    make = operator.methodcaller("OptimalTreeSearch", max_depth=3)
    assert [make(lattree).max_depth for _ in range(2)] == [3, 3]
