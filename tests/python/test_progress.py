"""Progress that is shown, Ctrl-C that keeps what was found, and thresholds that are not thinned out in silence."""

import pickle
import sys
import time
import warnings

import numpy as np
import pytest

import lattree
from lattree import (
    AcceptableSubsetSearch,
    BackwardEliminationSearch,
    Binarizer,
    Dataset,
    DistinctCounts,
    DistinctTreeSearch,
    ExhaustiveSubsetSearch,
    GreedyResult,
    GreedyTreeSearch,
    Interrupted,
    OptimalResult,
    OptimalTreeSearch,
    Progress,
    SubsetProgress,
    SubsetResult,
    _progress,
    datasets,
)
from test_limits import PATIENCE, POSIX, USABLE, interrupt

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def noise():
    """600 rows of 30 floats and labels by chance: what searches it exactly, or all subsets, takes hours."""
    rng = np.random.default_rng(0)
    return Dataset.from_arrays(rng.normal(size=(600, 30)), rng.integers(0, 2, 600))


@pytest.fixture(scope="module")
def long():
    """Growing a whole tree takes many times the tenth of a second between two reports."""
    rng = np.random.default_rng(1)
    return Dataset.from_arrays(rng.normal(size=(400_000, 10)), rng.integers(0, 3, 400_000))


@pytest.fixture(scope="module")
def fine():
    """Three columns of 700 values: more thresholds than `max_tests`."""
    rng = np.random.default_rng(3)
    return Dataset.from_arrays(rng.normal(size=(700, 3)), rng.integers(0, 2, 700))


def optimal(noise, long, **keywords):
    return OptimalTreeSearch(max_depth=20, engine="continuous", time_limit=30).run(noise, **keywords)


def greedy(noise, long, **keywords):
    return GreedyTreeSearch().run(long, **keywords)


def count(noise, long, **keywords):
    return DistinctTreeSearch(time_limit=30).count(noise, **keywords)


def acceptable(noise, long, **keywords):
    return AcceptableSubsetSearch(time_limit=30).run(*noise.split(0.3), **keywords)


def eliminate(noise, long, **keywords):
    rng = np.random.default_rng(2)
    wide = Dataset.from_arrays(rng.normal(size=(1500, 300)), rng.integers(0, 2, 1500))
    return BackwardEliminationSearch(time_limit=30, white_box=False).run(*wide.split(0.3), **keywords)


def exhaust(noise, long, **keywords):
    return ExhaustiveSubsetSearch(time_limit=30).run(*noise.split(0.3), **keywords)


RUNS = [
    (optimal, Progress, OptimalResult),
    (greedy, Progress, GreedyResult),
    (count, SubsetProgress, DistinctCounts),
    (acceptable, SubsetProgress, SubsetResult),
    (eliminate, SubsetProgress, SubsetResult),
    (exhaust, SubsetProgress, SubsetResult),
]
EVERY = pytest.mark.parametrize(("run", "report", "result"), RUNS, ids=lambda value: getattr(value, "__name__", None))


def stop(report):
    raise KeyboardInterrupt


class TestFaultP:
    @EVERY
    def test_fault_p_what_was_found_is_kept(self, noise, long, run, report, result):
        """A callback that raises what Ctrl-C raises goes the same way."""
        with pytest.raises(Interrupted, match=r"what the search had found is in `\.result`") as caught:
            run(noise, long, progress=stop)
        found = caught.value.result
        assert isinstance(found, result)
        assert found.status == "interrupted"
        assert isinstance(caught.value, KeyboardInterrupt)
        assert not isinstance(caught.value, Exception)
        if isinstance(found, OptimalResult):
            assert 0 <= found.lower_bound <= found.objective
            wrong = (found.tree.predict(noise) != noise.target).sum()
            assert found.objective == wrong < 300

    def test_fault_p_trees_from_an_iterator(self, noise):
        trees = DistinctTreeSearch(time_limit=30).run(noise, progress=stop)
        with pytest.raises(Interrupted) as caught:
            for _ in trees:
                pass
        assert isinstance(caught.value.result, DistinctCounts)
        assert (caught.value.result.status, trees.status) == ("interrupted", "interrupted")
        assert caught.value.result.distinct > 0
        assert next(trees, None) is None

    def test_fault_p_wherever_it_strikes_in_a_block(self, noise):
        trees = DistinctTreeSearch(time_limit=30).run(noise)
        next(trees)
        with pytest.raises(Interrupted) as caught, trees:
            raise KeyboardInterrupt
        assert caught.value.result.distinct >= 1
        assert caught.value.result.status == "interrupted"

    def test_other_exceptions_pass_as_they_are(self, noise, long):
        class Own(KeyboardInterrupt):
            pass

        def raises(kind):
            def raise_it(report):
                raise kind("mine")

            return raise_it

        for kind in (ValueError, Own, SystemExit):
            with pytest.raises(kind, match="mine"):
                optimal(noise, long, progress=raises(kind))
            with pytest.raises(kind, match="mine"), DistinctTreeSearch(time_limit=30).run(noise):
                raise kind("mine")

    def test_returned_if_that_is_wanted(self, noise, long):
        assert optimal(noise, long, progress=stop, on_interrupt="return").status == "interrupted"

    def test_heard_after_the_end(self, noise):
        def wait_and_stop(report):
            time.sleep(1.5)
            raise KeyboardInterrupt

        search = OptimalTreeSearch(max_depth=5, time_limit=0.4)
        with pytest.raises(Interrupted) as caught:
            search.run(noise, progress=wait_and_stop, on_interrupt="return")
        assert caught.value.result.status == "time_limit"

    def test_without_a_result(self):
        assert Interrupted().result is None

    def test_pickle(self, noise, long):
        with pytest.raises(Interrupted) as caught:
            optimal(noise, long, progress=stop)
        again = pickle.loads(pickle.dumps(caught.value))
        assert type(again) is Interrupted
        assert again.result.tree == caught.value.result.tree

    @POSIX
    @pytest.mark.parametrize("threads", [1, 2])
    @pytest.mark.parametrize(
        "run",
        [
            "search.run(data)",
            "lattree.GreedyTreeSearch(threads=threads).run(large)",
            "lattree.DistinctTreeSearch(threads=threads, required='x0', time_limit=30).count(wide)",
            "lattree.AcceptableSubsetSearch(threads=threads, time_limit=30).run(*wide.split(0.3))",
            "lattree.BackwardEliminationSearch(threads=threads, white_box=False, time_limit=30).run(*broad.split(0.3))",
            "lattree.ExhaustiveSubsetSearch(threads=threads, time_limit=30).run(*wide.split(0.3))",
            "next(lattree.DistinctTreeSearch(threads=threads, required='x29', time_limit=30).run(wide))",
        ],
    )
    def test_fault_p_ctrl_c(self, run, threads):
        said, error = interrupt(
            f"""
            X = rng.normal(size=(600, 30))
            X[:, 29] = 0  # no tree uses it
            wide = Dataset.from_arrays(X, rng.integers(0, 2, 600))
            broad = Dataset.from_arrays(rng.normal(size=(1500, 300)), rng.integers(0, 2, 1500))
            large = Dataset.from_arrays(rng.normal(size=(400_000, 10)), rng.integers(0, 3, 400_000))
            say("ready")
            try:
                {run}
                say("went on")
            except lattree.Interrupted as stopped:
                say(stopped.result.status)
            usable(before)
            """,
            threads=threads,
            engine="continuous",
            after=0.3,
        )
        assert [line for line, _ in said] == ["interrupted", USABLE]
        assert said[0][1] < PATIENCE
        assert error == ""


class TestShown:
    @EVERY
    @pytest.mark.parametrize("library", ["tqdm", "rich"])
    def test_every_search(self, noise, long, monkeypatch, capsys, library, run, report, result):
        if library == "rich":
            monkeypatch.setitem(sys.modules, "tqdm.auto", None)
        shown = []
        monkeypatch.setattr(_progress.Line, "__call__", lambda line, report: (shown.append(report), stop(report)))
        assert run(noise, long, progress=True, on_interrupt="return").status == "interrupted"
        assert isinstance(shown[0], report)
        said = capsys.readouterr()
        assert "interrupted  " in said.err
        assert not said.out

    def test_an_iterator(self, noise, capsys):
        with DistinctTreeSearch().run(noise.select(["x0", "x1", "x2"]), progress=True) as trees:
            n = len(list(trees))
        assert f"complete  trees {n}  built " in capsys.readouterr().err

    def test_words(self):
        def progress(*values):
            return lattree._core._progress_from_parts(*values)

        assert _progress.words(progress(1.25, 12.0, 9.0, 7)) == "best 12  bound 9  gap 25.0%  1.2 s"
        assert _progress.words(progress(1.0, None, 0.5, 7)) == "best none yet  bound 0.5  1.0 s"
        assert _progress.words(progress(1.0, None, 0.0, 1234)) == "nodes 1,234  1.0 s"
        assert _progress.words(progress(1.0, 0.0, 0.0, 0)) == "best 0  bound 0  gap 0.0%  1.0 s"
        subsets = lattree._core._subset_progress_from_parts
        assert _progress.words(subsets(1.0, 20, 12, 0.25, None, 0.0)) == (
            "trees 12  built 20  25.0% of all subsets  1.0 s"
        )
        assert _progress.words(subsets(1.0, 20, 0, 0.25, 0.5, 0.125)) == (
            "best 0.5  bound 0.125  gap 75.0%  trees 20  25.0% of all subsets  1.0 s"
        )

    def test_the_end_is_told_and_nothing_after_an_error(self, capsys):
        iris = datasets.load("iris")
        result = OptimalTreeSearch(max_depth=2).run(iris, progress=True)
        assert f"optimal  best 6  bound 6  gap 0.0%  {result.seconds:.1f} s" in capsys.readouterr().err
        grown = GreedyTreeSearch().run(iris, progress=True)
        assert f"complete  leaves {grown.tree.n_leaves}" in capsys.readouterr().err
        with pytest.raises(lattree.DataError):
            OptimalTreeSearch().run(Dataset({"x": [1, 2]}), progress=True)
        assert "best" not in capsys.readouterr().err

    def test_false_is_none(self, capsys):
        assert OptimalTreeSearch(max_depth=1).run(datasets.load("iris"), progress=False).status == "optimal"
        assert capsys.readouterr().err == ""

    @EVERY
    def test_what_else_it_may_be(self, noise, long, run, report, result):
        for wrong in (1, "yes", []):
            with pytest.raises(TypeError, match="`progress` must be True, False, a callable or None, got "):
                run(noise, long, progress=wrong)

    def test_neither_tqdm_nor_rich(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
        monkeypatch.setitem(sys.modules, "rich.console", None)
        with pytest.raises(ImportError, match=r"needs tqdm or rich: pip install 'lattree\[progress\]'"):
            OptimalTreeSearch().run(datasets.load("iris"), progress=True)

    def test_reports_of_greedy_growth(self, long):
        reports = []
        result = GreedyTreeSearch().run(long, progress=reports.append)
        nodes = [report.nodes for report in reports]
        assert nodes == sorted(nodes)
        assert 0 < nodes[-1] < result.tree.n_nodes + result.tree.n_leaves
        assert {(report.objective, report.lower_bound) for report in reports} == {(None, 0.0)}

    def test_an_iterator_lets_its_callback_go(self, noise):
        reports = []
        with DistinctTreeSearch(time_limit=30).run(noise, progress=reports.append) as trees:
            while not reports:
                next(trees)
        assert isinstance(reports[0], SubsetProgress)
        before = sys.getrefcount(reports)
        trees.close()
        assert sys.getrefcount(reports) == before


class TestThinned:
    def test_told_with_what_to_do(self, fine):
        text = r"thinned out to \d+ tests, .*binarizer=lattree.Binarizer\(thresholds=\"exact\"\)"
        with pytest.warns(UserWarning, match=text) as told:
            result = OptimalTreeSearch(max_depth=1, engine="tests").run(fine)
        assert not result.exact_thresholds
        assert f" {len(result.tests)} tests" in str(told[0].message)
        assert told[0].filename == __file__

    def test_a_hopeless_search(self):
        x = np.random.default_rng(5).normal(size=(500, 6))
        x[:, 0] = np.sign(x[:, 0])
        easy = Dataset.from_arrays(x, x[:, 0] > 0)
        with pytest.warns(UserWarning, match="thinned out"):
            OptimalTreeSearch(max_depth=9).run(easy)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            OptimalTreeSearch(max_depth=9, node_limit=10).run(easy)

    @pytest.mark.parametrize(
        "binarizer",
        [
            Binarizer(thresholds="exact"),
            Binarizer(thresholds="quantile"),
            Binarizer(thresholds="mdlp"),
            Binarizer(max_thresholds=9),
        ],
        ids=str,
    )
    def test_not_where_it_was_asked_for(self, fine, binarizer):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            OptimalTreeSearch(max_depth=1, engine="tests", binarizer=binarizer).run(fine)
            OptimalTreeSearch(max_depth=1).run(fine)


def test_results_under_a_limit_of_nodes_repeat_exactly(noise):
    search = OptimalTreeSearch(max_depth=5, engine="continuous", node_limit=200, threads=1)
    first, second = (search.run(noise) for _ in range(2))
    assert first.status == second.status == "node_limit"
    assert (first.tree, first.objective, first.lower_bound) == (second.tree, second.objective, second.lower_bound)
    assert first.stats["nodes"] == second.stats["nodes"]
