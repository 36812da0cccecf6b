"""Pictures: that everything is in them, and can be read."""

import itertools
import math
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import lattree
from lattree import Dataset, GreedyTreeSearch, OptimalTreeSearch, ParameterError, PolicyTreeSearch

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

HOSTILE = [r"$\frac{1}{0}$ and _{", 'a "quoted"\nname\twith\\ breaks', "x" * 300, "<b>&amp;</b>", "naïve 数 " * 8]


@pytest.fixture(autouse=True)
def close():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def labelled(ax, prefix):
    return {artist.get_gid(): artist for artist in ax.get_children() if (artist.get_gid() or "").startswith(prefix)}


def check_readable(ax):
    """All texts lie in their boxes, no two boxes overlap, and letters are no smaller than five points."""
    ax.figure.savefig("/dev/null", format="svg")
    boxes = {gid[4:]: box.get_window_extent() for gid, box in labelled(ax, "node").items()}
    texts = labelled(ax, "text")
    assert boxes.keys() == {gid[4:] for gid in texts}
    for gid, text in texts.items():
        box, extent = boxes[gid[4:]], text.get_window_extent()
        assert box.x0 <= extent.x0 <= extent.x1 <= box.x1, text.get_text()
        assert box.y0 <= extent.y0 <= extent.y1 <= box.y1, text.get_text()
        assert text.get_fontsize() >= 5
    ordered = sorted(boxes.values(), key=lambda box: (round(box.y0), box.x0))
    for one, other in itertools.pairwise(ordered):
        assert round(one.y0) != round(other.y0) or one.x1 < other.x0


def test_each_node_has_its_words_and_counts():
    tree = OptimalTreeSearch(max_depth=3).run(lattree.datasets.load("titanic")).tree
    ax = lattree.plot(tree)
    check_readable(ax)
    said = {gid: text.get_text().replace("\n", " ") for gid, text in labelled(ax, "text").items()}
    for node in tree.nodes():
        words = said[f"text{node.index}"]
        assert words.startswith(str(node.prediction) if node.is_leaf else str(node.test))
        assert f"({node.mass:g}" in words
    branches = sorted(text.get_text() for text in ax.texts if not (text.get_gid() or "").startswith("text"))
    assert branches == ["no", "no or missing", "no or missing", "yes", "yes", "yes or missing"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["no", "yes"]


def test_a_tree_of_31_nodes():
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.normal(size=(150, 4)), rng.integers(0, 2, 150))
    tree = OptimalTreeSearch(max_depth=4, rank="objective").run(data).tree
    assert len(tree.nodes()) == 31
    check_readable(lattree.plot(tree))


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(name):
    rng = np.random.default_rng(1)
    levels = rng.choice([name, name + " 2", "c"], 200)
    labels = np.where(levels == "c", "no " + name, np.where(rng.random(200) < 0.5, name, "yes"))
    tree = OptimalTreeSearch(max_depth=2).run(Dataset(pl.DataFrame({name: levels, "class": labels}), "class")).tree
    assert tree.n_nodes > 1
    check_readable(lattree.plot(tree))


def test_twelve_classes_in_different_colours():
    rng = np.random.default_rng(2)
    numbers = rng.random((600, 3))
    data = Dataset.from_arrays(numbers, (numbers[:, 0] * 12).astype(int))
    ax = lattree.plot(GreedyTreeSearch(max_depth=5).run(data).tree)
    check_readable(ax)
    colours = [handle.get_facecolor() for handle in ax.get_legend().legend_handles]
    assert len(set(colours)) == len(colours) == 12
    assert all(math.dist(one, other) > 0.2 for one, other in itertools.pairwise(colours))


def test_large_trees_are_folded():
    rng = np.random.default_rng(3)
    data = Dataset.from_arrays(rng.normal(size=(900, 6)), rng.integers(0, 2, 900))
    tree = GreedyTreeSearch().run(data).tree
    assert len(tree.nodes()) > 200
    ax = lattree.plot(tree)
    check_readable(ax)
    texts = labelled(ax, "text")
    assert 3 <= len(texts) <= 63
    assert sum("…" in text.get_text() for text in texts.values()) > 1
    assert len(labelled(lattree.plot(tree, max_depth=1), "node")) == 3
    assert len(labelled(lattree.plot(tree, max_depth=0), "node")) == 1


def test_many_branches_show_their_levels():
    levels = np.array(list("abcdef") * 20)
    tree = GreedyTreeSearch().run(Dataset(pl.DataFrame({"x": levels, "y": levels}), "y")).tree
    assert len(tree.root.children) == 6
    ax = lattree.plot(tree)
    check_readable(ax)
    branches = [text.get_text().removesuffix(" or missing") for text in ax.texts if text.get_gid() is None]
    assert sorted(branches) == list("abcdef")


def test_leaves_and_axes_of_ones_own():
    from matplotlib import pyplot

    data = Dataset.from_arrays(np.zeros((3, 1)), [0, 0, 0])
    _, ax = pyplot.subplots()
    assert lattree.plot(OptimalTreeSearch().run(data).tree, ax=ax) is ax
    check_readable(ax)
    with pytest.raises(ParameterError, match=r"`max_depth` must be at least 0, or None, got -1"):
        lattree.plot(OptimalTreeSearch().run(data).tree, max_depth=-1)


def test_traces():
    data = lattree.datasets.load("kr-vs-kp")
    result = OptimalTreeSearch(max_depth=5, node_limit=5_000, threads=1).run(data)
    ax = lattree.plot_trace(result)
    objective, bound = ax.get_lines()
    assert list(objective.get_ydata()[:-1]) == [entry[1] for entry in result.trace]
    assert list(bound.get_ydata()[:-1]) == [entry[2] for entry in result.trace]
    assert ax.get_title() == "node_limit, gap 100.0%"
    rng = np.random.default_rng(0)
    table = Dataset({"a": rng.random(50)}, rewards={"x": rng.random(50), "y": rng.random(50)})
    ax = lattree.plot_trace(PolicyTreeSearch(max_depth=2).run(table))
    assert [text.get_text().split(":")[0] for text in ax.get_legend().get_texts()] == ["reward", "upper bound"]


def test_without_matplotlib_the_error_says_how_to_get_it():
    code = """
import sys
sys.modules["matplotlib"] = None
import lattree
tree = lattree.OptimalTreeSearch(max_depth=1).run(lattree.datasets.load("iris")).tree
try:
    lattree.plot(tree)
except ImportError as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "pictures need matplotlib: pip install 'lattree[plot]'"
