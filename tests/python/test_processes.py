"""After a search with threads: fork, spawn, pools, threads and pickles all work, and nothing hangs (B28).

Not in a forked child: the readers of files and `datasets.load`, whose docstrings say so. They are polars' own, which
wait for its pool of threads, and that does not survive a fork.
"""

import concurrent.futures
import datetime as dt
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import polars as pl
import pytest

import lattree
from lattree import Dataset, GreedyTreeSearch, OptimalTreeSearch, datasets

# From Python 3.12 on, fork warns where threads are running; that it works here all the same is what is tested.
pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning"),
]
FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
SEARCH = OptimalTreeSearch(max_depth=3, threads=4)


@pytest.fixture(scope="module")
def data():
    return datasets.load("anneal")


@pytest.fixture(scope="module")
def numbers():
    """Wide enough for a pool of threads."""
    rng = np.random.default_rng(0)
    return Dataset.from_arrays(rng.integers(0, 2, (1000, 70)), rng.integers(0, 2, 1000))


@pytest.fixture(scope="module")
def result(data, numbers):
    """A search in the parent, with a pool of four threads, and polars at work."""
    parallel = OptimalTreeSearch(max_depth=4, threads=4, time_limit=0.3).run(numbers)
    assert parallel.stats["threads"] == 4
    result = SEARCH.run(data)
    assert result.objective == 20
    return result


@pytest.fixture(scope="module")
def polars_at_work():
    """Without its threads at work before the fork, polars would start new ones after it."""
    pl.DataFrame({"x": np.arange(100_000) % 7}).sort("x").group_by("x").len()


def mixed(repeats):
    """One column of every kind, with null cells."""
    start = dt.datetime(2020, 1, 1, 12, 30, 0, 125_000)
    columns = {
        "float": [0.5, None, -0.0, float("nan"), 2.0, 1e300],
        "whole": [2, 0, None, 1, 2, 0],
        "wide": pl.Series([2**63, 1, 0, None, 5, 7], dtype=pl.UInt64),
        "text": ["b", "a", "\U0001f332", None, "\uffee", "a"],
        "flag": [True, False, None, True, True, False],
        "day": [dt.date(2020, 1, day) for day in (3, 1, 2, 1)] + [None, dt.date(1969, 1, 1)],
        "time": [None] + [start + dt.timedelta(hours=hours) for hours in range(5)],
        "enum": pl.Series(["low", "high", None, "high", "low", "low"], dtype=pl.Enum(["low", "high", "never"])),
        "category": pl.Series(["q", None, "p", "q", "r", "p"], dtype=pl.Categorical),
    }
    frame = pl.DataFrame(columns).with_columns(local=pl.col("time").dt.replace_time_zone("Europe/Berlin"))
    return pl.concat([frame] * repeats, rechunk=False)


def as_kind(frame, kind):
    if kind == "polars":
        return frame
    if kind == "dict":
        return frame.to_dict(as_series=False)
    pytest.importorskip("pyarrow", reason="polars makes tables of pandas and pyarrow by pyarrow")
    return frame.to_arrow() if kind == "pyarrow" else frame.to_pandas()


def search_again(data):
    return SEARCH.run(data)


def predict_again(tree, data):
    return tree.predict(data)


def forked(work, *, seconds=10):
    """What a forked child makes of `work`; fails if it hangs."""
    read, write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(read)
            os.write(write, pickle.dumps(work()))
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    end = time.monotonic() + seconds
    received = b""
    os.set_blocking(read, False)
    try:
        while time.monotonic() < end:
            try:
                part = os.read(read, 1 << 20)
            except BlockingIOError:
                time.sleep(0.01)
                continue
            if not part:
                break
            received += part
        else:
            pytest.fail(f"the forked child hangs after {seconds} s")
    finally:
        os.close(read)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return pickle.loads(received)


@FORK
class TestFork:
    def test_b28_a_forked_child_searches(self, result, data):
        again = forked(lambda: search_again(data))
        assert (again.tree, again.status) == (result.tree, "optimal")

    def test_b28_a_forked_child_searches_with_a_pool(self, result, numbers):
        search = OptimalTreeSearch(max_depth=8, threads=4, time_limit=0.3)
        again = forked(lambda: search.run(numbers))
        assert (again.status, again.stats["threads"]) == ("time_limit", 4)

    def test_b28_a_forked_child_grows_with_a_pool(self, numbers):
        search = GreedyTreeSearch(threads=4)
        tree = search.run(numbers).tree
        assert forked(lambda: search.run(numbers).tree) == tree

    def test_b28_a_forked_child_predicts_on_a_dataset(self, result, data):
        expected = result.tree.predict(data).to_list()
        assert forked(lambda: result.tree.predict(data).to_list()) == expected
        assert forked(lambda: result.tree.apply(data).to_list()) == result.tree.apply(data).to_list()
        assert forked(lambda: result.tree.predict_proba(data).rows()) == result.tree.predict_proba(data).rows()

    def test_b28_a_forked_child_predicts_on_many_rows_with_threads(self, result, numbers):
        many = numbers.take(np.arange(300_000) % 1000)
        tree = OptimalTreeSearch(max_depth=2).run(numbers).tree
        assert forked(lambda: tree.apply(many).sum()) == tree.apply(many).sum()

    def test_b28_a_forked_child_predicts_on_a_frame_of_text(self, result):
        frame = datasets.load_frame("anneal")
        expected = result.tree.predict(frame).to_list()
        assert forked(lambda: result.tree.predict(frame).to_list()) == expected
        assert forked(lambda: result.tree.apply(frame).to_list()) == result.tree.apply(frame).to_list()
        assert forked(lambda: result.tree.predict_proba(frame).rows()) == result.tree.predict_proba(frame).rows()

    def test_b28_a_forked_child_predicts_on_an_array(self, numbers, polars_at_work):
        tree, X = OptimalTreeSearch(max_depth=2).run(numbers).tree, np.eye(70)
        assert forked(lambda: tree.predict(X).tolist()) == tree.predict(X).tolist()

    @pytest.mark.parametrize("kind", ["polars", "pandas", "dict", "pyarrow"])
    @pytest.mark.parametrize("target", ["text", "whole", "flag", "float"])
    def test_b28_a_forked_child_makes_a_dataset(self, kind, target, polars_at_work):
        frame = mixed(7)
        labelled = frame.fill_nan(None).drop_nulls(target)  # a label must not be missing
        table, labels = as_kind(frame, kind), as_kind(labelled, kind)

        def work():
            trained = Dataset(labels, target, nominal=["day", "time", "wide"], drop=["local"])
            again = Dataset(labels, target, like=trained)
            features = Dataset(table, ordinal={"whole": [2, 1, 0]}, nominal=["time", "local", "wide"])
            frames = [one.to_polars().to_dict(as_series=False) for one in (trained, again, features)]
            return repr(trained), repr(features), frames, trained.target.to_list(), features.schema == trained.schema

        assert str(forked(work)) == str(work())

    def test_b28_a_forked_child_makes_a_dataset_of_arrays(self, polars_at_work):
        rows = [[0, "a", True], [1, "b", None]]

        def work():
            data = [Dataset.from_arrays(X, y) for X, y in ((rows, ["x", "y"]), (np.eye(2), [0.5, 1.5]))]
            return [(repr(one), one.to_polars().rows(), one.target.to_list()) for one in data]

        assert forked(work) == work()

    def test_b28_a_grandchild_searches(self, result, data):
        assert forked(lambda: forked(lambda: SEARCH.run(data).objective)) == 20

    def test_b28_a_pool_of_forked_processes(self, result, data):
        context = multiprocessing.get_context("fork")
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
            results = list(pool.map(search_again, [data] * 4, timeout=40))
        assert [one.tree for one in results] == [result.tree] * 4


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_b28_a_pool_of_fresh_processes(method, result, data):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no start method {method!r} here")
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        results = list(pool.map(search_again, [data] * 2, timeout=40))
        predicted = pool.submit(predict_again, result.tree, datasets.load_frame("anneal")).result(timeout=40)
    assert [one.tree for one in results] == [result.tree] * 2
    assert predicted.equals(result.tree.predict(data))


def test_b28_multiprocessing_pool(result, data):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        tree = pool.apply_async(search_again, [data]).get(timeout=40).tree
    assert tree == result.tree


def test_b28_joblib_with_loky_and_threads(result, data):
    joblib = pytest.importorskip("joblib", reason="joblib comes with lattree[sklearn]")
    for backend in ("loky", "threading"):
        work = [joblib.delayed(search_again)(data)] * 3
        results = joblib.Parallel(n_jobs=2, backend=backend, timeout=40)(work)
        assert [one.tree for one in results] == [result.tree] * 3


def test_b28_threads(result, data):
    found = []
    threads = [threading.Thread(target=lambda: found.append(search_again(data).tree)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == [result.tree] * 4
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: result.tree.predict(data), range(8)))
    assert all(part.equals(parts[0]) for part in parts)


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_b28_a_pickle_loads_in_another_process(result, data, protocol, tmp_path):
    grower = GreedyTreeSearch(class_weight={"1": 2})
    parts = (
        data,
        result,
        result.tree,
        data.schema,
        SEARCH,
        lattree.Binarizer(thresholds="mdlp"),
        grower,
        grower.run(data),
    )
    path = tmp_path / "parts.pickle"
    path.write_bytes(pickle.dumps(parts, protocol))
    script = """
        import pickle, sys
        with open(sys.argv[1], "rb") as file:
            data, result, tree, schema, search, binarizer, grower, grown = pickle.load(file)
        assert (result.tree, data.schema, binarizer.thresholds) == (tree, schema, "mdlp")
        assert search.run(data).tree == tree
        assert grower.run(data).tree == grown.tree
        print(int((tree.predict(data) != data.to_polars()["class"]).sum()), hash(tree))
    """
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(script), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=40, check=False)
    assert done.stderr == ""
    assert done.stdout.split() == ["20", str(hash(result.tree))], "errors, and the same hash in every process"


@pytest.mark.parametrize(
    ("variable", "threads", "used"),
    [("1", None, 1), ("1", 3, 3), ("zero", 2, 2), ("0", 2, 2), (" 1 ", None, 1)],
)
def test_lattree_num_threads_caps_what_none_means(numbers, variable, threads, used, monkeypatch):
    monkeypatch.setenv("LATTREE_NUM_THREADS", variable)
    search = OptimalTreeSearch(max_depth=4, threads=threads, time_limit=0.1)
    assert search.run(numbers).stats["threads"] == used
