"""Trees: the same prediction from every kind of table, every way out and back in, and no trust in foreign files."""

import copy
import json
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lattree import Binarizer, DataError, Dataset, OptimalTreeSearch, Tree, TreeError, datasets

GOLDEN = Path(__file__).parents[1] / "data" / "tree_v1.json"


@pytest.fixture
def grown(mixed):
    """A table and a tree on it that asks about several columns."""
    data = Dataset(mixed, "y")
    tree = OptimalTreeSearch(max_depth=3, binarizer=Binarizer(thresholds="quantile", max_thresholds=6)).run(data).tree
    assert len(tree.features) >= 3
    return mixed, data, tree


class TestPredict:
    def test_every_kind_of_table_gives_the_same(self, grown):
        frame, data, tree = grown
        expected = tree.predict(data)
        assert expected.dtype == pl.String
        assert 0.8 < (expected == frame["y"]).mean() < 1
        pandas = pd.DataFrame({name: frame[name].to_pandas() for name in frame.columns})
        tables = [
            frame,
            frame.to_dict(as_series=False),
            frame.to_dict(),
            frame.to_arrow(),
            pandas,
            pandas.set_index(np.arange(len(frame))[::-1]),
            Dataset(frame, like=data),
            Dataset(frame.drop("y"), like=tree),
            Dataset(frame.select(reversed(frame.columns)), "y"),
            frame.with_columns(pl.col("color").cast(pl.Categorical), pl.col("length").cast(pl.Float32)),
        ]
        for table in tables[:-1]:
            assert np.array_equal(tree.predict(table), expected), type(table)
            assert np.array_equal(tree.apply(table), tree.apply(data))
            assert np.array_equal(tree.predict_proba(table), tree.predict_proba(data))
        assert tree.predict(tables[-1].with_columns(frame["length"])).equals(expected)

    def test_arrays_by_position(self):
        data = datasets.load("iris")
        tree = OptimalTreeSearch(max_depth=2).run(data).tree
        X = datasets.load_frame("iris").drop(datasets.TARGET).to_numpy()
        for same in (X, X.tolist(), np.asfortranarray(X), X.astype(object)):
            assert np.array_equal(tree.predict(same), tree.predict(data))
        with pytest.raises(DataError, match="4 feature names, but X has 3 columns"):
            tree.predict(X[:, :3])

    def test_order_of_columns_and_extra_columns_do_not_matter(self, grown):
        frame, data, tree = grown
        other = frame.select(reversed(frame.columns)).with_columns(extra=pl.lit("?"), more=pl.lit(None))
        assert tree.predict(other).equals(tree.predict(data))
        assert tree.predict(frame.select(tree.features)).equals(tree.predict(data)), "other columns are not needed"

    def test_a_missing_column_is_named(self, grown):
        frame, _, tree = grown
        for name in tree.features:
            for table in (frame.drop(name), frame.drop(name).to_dict(as_series=False), Dataset(frame.drop(name), "y")):
                for method in (tree.predict, tree.predict_proba, tree.apply):
                    with pytest.raises(DataError, match=f'"{name}"'):
                        method(table)

    def test_a_column_of_another_kind_is_named(self, grown):
        frame, _, tree = grown
        name = tree.features[0]
        with pytest.raises(DataError, match=f'column "{name}" is .*; expected'):
            tree.predict(frame.with_columns(pl.Series(name, [b"x"] * len(frame))))

    @pytest.mark.parametrize("wrong", [None, 3, "iris", pl.Series([1.0])])
    def test_what_is_no_table(self, grown, wrong):
        with pytest.raises(TypeError):
            grown[2].predict(wrong)

    def test_many_rows_on_several_threads(self):
        data = datasets.load("titanic")
        tree = OptimalTreeSearch(max_depth=3).run(data).tree
        rows = np.random.default_rng(0).integers(0, len(data), 450_000)
        many = data.take(rows)
        assert (tree.predict(many).to_numpy() == tree.predict(data).to_numpy()[rows]).all()
        assert (tree.apply(many) == tree.apply(data)[rows]).all()
        assert tree.predict_proba(many).equals(tree.predict_proba(data)[rows])

    def test_probabilities(self, grown):
        frame, data, tree = grown
        proba = tree.predict_proba(data).to_numpy()
        assert proba.shape == (len(frame), 2)
        assert proba.dtype == np.float64
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
        likely = np.array(tree.schema.classes)[proba.argmax(axis=1)]
        assert (likely == tree.predict(data).to_numpy()).all()
        soybean = datasets.load("soybean")
        many = OptimalTreeSearch(max_depth=2).run(soybean).tree.predict_proba(soybean).to_numpy()
        assert many.shape == (683, 19)
        np.testing.assert_allclose(many.sum(axis=1), 1, rtol=1e-12)

    def test_a_frame_without_rows(self, grown):
        frame, _, tree = grown
        none = frame.head(0)
        assert tree.predict(none).to_list() == []
        assert tree.predict(none).dtype == pl.String
        assert tree.predict_proba(none).shape == (0, 2)
        assert tree.apply(none).shape == (0,)


def holds(condition, row):
    """Whether a row without missing values meets a condition, read from its words alone."""
    condition = condition.removesuffix(" or missing")
    for words, test in [
        (" is not missing", lambda value, _: value is not None),
        (" is missing", lambda value, _: value is None),
        (" is known", lambda value, _: value is not None),
        (" <= ", lambda value, limit: value <= limit),
        (" > ", lambda value, limit: value > limit),
        (" not in ", lambda value, levels: value not in levels),
        (" in ", lambda value, levels: value in levels),
        (" is not ", lambda value, level: value != level),
        (" is ", lambda value, level: value == level),
    ]:
        name, found, text = condition.partition(words)
        if found:
            value = row[name]
            if text.startswith("{"):
                return test(str(value).lower() if value in (True, False) else value, text[1:-1].split(", "))
            if isinstance(value, bool):
                return test(str(value).lower(), text)
            if isinstance(value, (int, float)):
                return test(value, float(text))
            sizes = ["S", "M", "L", "XL"]
            if value in sizes:
                return test(sizes.index(value), sizes.index(text))
            return test(str(value), text)
    raise AssertionError(condition)


class TestRules:
    @pytest.mark.parametrize("nominal", ["one_vs_rest", "subsets"])
    @pytest.mark.parametrize("depth", [0, 1, 3])
    def test_every_row_meets_the_conditions_of_its_leaf_and_of_no_other(self, mixed, nominal, depth):
        frame = mixed.drop_nulls()
        data = Dataset(frame, "y")
        binarizer = Binarizer(thresholds="quantile", max_thresholds=5, nominal=nominal)
        tree = OptimalTreeSearch(max_depth=depth, binarizer=binarizer).run(data).tree
        rules = tree.rules()
        assert len(rules) == tree.n_leaves
        leaves = np.unique(tree.apply(data), return_inverse=True)[1]
        predicted = tree.predict(data)
        for index, row in enumerate(frame.iter_rows(named=True)):
            met = [i for i, rule in enumerate(rules) if all(holds(str(c), row) for c in rule.conditions)]
            assert met == [leaves[index]]
            assert rules[met[0]].prediction == predicted[index]

    @pytest.mark.parametrize("name", datasets.names())
    def test_masses_are_those_of_the_rows_that_came(self, name):
        data = datasets.load(name)
        binarizer = Binarizer(thresholds="quantile", max_thresholds=3)
        tree = OptimalTreeSearch(max_depth=3, binarizer=binarizer).run(data).tree
        rules = tree.rules()
        classes = tree.schema.classes
        ids, leaves = np.unique(tree.apply(data), return_inverse=True)
        assert len(ids) == len(rules) == tree.n_leaves == tree.n_nodes + 1
        labels = data.to_polars()[data.schema.target].to_list()
        codes = np.array([classes.index(label) for label in labels])
        proba = tree.predict_proba(data).to_numpy()
        for leaf, rule in enumerate(rules):
            masses = np.bincount(codes[leaves == leaf], minlength=len(classes))
            assert rule.masses == masses.tolist()
            assert rule.mass == masses.sum()
            assert rule.errors == masses.sum() - masses.max()
            assert rule.prediction == classes[masses.argmax()]
            assert (proba[leaves == leaf] == masses / masses.sum()).all()
            assert str(rule.prediction) in repr(rule)


class TestText:
    def test_every_branch_has_a_line_and_max_depth_cuts(self, grown):
        _, _, tree = grown
        lines = tree.to_text().split("\n")
        assert len(lines) == 2 * tree.n_nodes
        assert str(tree) == tree.to_text()
        assert tree.to_text(max_depth=tree.depth) == tree.to_text(max_depth=99) == tree.to_text()
        cut = tree.to_text(max_depth=1).split("\n")
        assert len(cut) == 2
        hidden = sum(int(n) for n in re.findall(r": \.\.\. \((\d+) nodes?\)", "\n".join(cut)))
        assert hidden == tree.n_nodes - 1
        assert tree.to_text(max_depth=0) == f"... ({tree.n_nodes} nodes)"
        assert tree.to_text().split("\n")[0].startswith(cut[0].split(": ...")[0])
        masses = [float(mass) for mass in re.findall(r"\((\d+)(?:/\d+)?\)$", tree.to_text(), re.MULTILINE)]
        assert masses == [rule.mass for rule in tree.rules()]

    @staticmethod
    def graph(dot):
        """The nodes and edges of a DOT text, after a check of its syntax."""
        lines = dot.split("\n")
        assert lines[0] == "digraph tree {"
        assert lines[-2:] == ["}", ""]
        quoted = r'"(?:[^"\\\n\x00-\x1f]|\\["\\])*"'
        nodes, edges = {}, []
        for line in lines[3:-2]:
            node = re.fullmatch(rf"  (n\d+) \[label=({quoted})(?:, (?:style=rounded|shape=plaintext))?\];", line)
            edge = re.fullmatch(rf"  (n\d+) -> (n\d+) \[label=(yes|no|{quoted})\];", line)
            assert bool(node) != bool(edge), line
            if node:
                assert node[1] not in nodes
                nodes[node[1]] = node[2]
            else:
                edges.append((edge[1], edge[2]))
        assert {child for _, child in edges} == set(nodes) - {"n0"}, "every node but the root has a parent"
        assert len(edges) == len(nodes) - 1
        return nodes, edges

    def test_dot(self, grown):
        _, _, tree = grown
        nodes, edges = self.graph(tree.to_dot())
        assert len(nodes) == tree.n_nodes + tree.n_leaves
        assert all(len([e for e in edges if e[0] == parent]) == 2 for parent, _ in edges)
        assert len(self.graph(tree.to_dot(max_depth=1))[0]) == 3
        assert len(self.graph(tree.to_dot(max_depth=0))[0]) == 1

    @pytest.mark.parametrize(
        "name", ['a"b', "c<d", "e&f", "g\\h", "two\nlines", "", "\U0001f333", "a;b] -> {", "\x00\x7f"]
    )
    def test_b27_any_name_and_level_in_every_export(self, name):
        levels = ["3 speed", "", "a,b", name + "!", name + "?"]
        table = {name: [*levels, *levels], "n" + name: range(10), "y": [level == "a,b" for level in levels] * 2}
        data = Dataset(table, "y")
        tree = OptimalTreeSearch(max_depth=1, binarizer=Binarizer(nominal="subsets")).run(data).tree
        assert tree.features == [name]
        self.graph(tree.to_dot())
        assert tree.to_text().count("\n") == 1, "one line per branch, whatever the names"
        assert len(tree.rules()) == 2
        again = Tree.from_json(tree.to_json())
        assert again == tree
        assert again.schema == data.schema
        assert again.predict(table).to_list() == table["y"]


class TestEquality:
    def test_every_way_out_and_back_in(self, grown):
        frame, data, tree = grown
        for same in (
            Tree.from_json(tree.to_json()),
            pickle.loads(pickle.dumps(tree)),
            copy.deepcopy(tree),
            copy.copy(tree),
            Tree.from_json(json.dumps(json.loads(tree.to_json()), indent=2)),
        ):
            assert same == tree
            assert hash(same) == hash(tree)
            assert same.to_json() == tree.to_json()
            assert same.schema == tree.schema
            assert (same.n_nodes, same.depth, same.features) == (tree.n_nodes, tree.depth, tree.features)
            assert same.predict(frame).equals(tree.predict(data))

    def test_columns_that_are_not_asked_about_do_not_matter(self, grown):
        _, data, tree = grown
        search = OptimalTreeSearch(max_depth=3, binarizer=Binarizer(thresholds="quantile", max_thresholds=6))
        fewer = search.run(data.select(tree.features)).tree
        assert fewer.schema != tree.schema
        assert fewer == tree
        assert hash(fewer) == hash(tree)
        assert len({tree, fewer}) == 1

    def test_other_trees_differ(self, grown):
        _, data, tree = grown
        others = [OptimalTreeSearch(max_depth=depth).run(data).tree for depth in (0, 1, 2)]
        others.append(OptimalTreeSearch(max_depth=1, min_leaf=60).run(data.take(range(200))).tree)
        assert len({tree, *others}) == 1 + len(others)
        assert tree != "tree"
        assert tree is not None

    def test_a_tree_cannot_be_changed_or_made_by_hand(self, grown):
        _, _, tree = grown
        with pytest.raises(AttributeError):
            tree.n_nodes = 3
        with pytest.raises(TypeError):
            Tree()


class TestJson:
    def test_golden_file(self):
        tree = Tree.from_json(GOLDEN.read_text(encoding="utf-8"))
        assert (tree.n_nodes, tree.depth) == (9, 9)
        row = {"age": [1.0, None], "account": [0, 0], "since": ["", ""], "size": ["small"] * 2, "color": ["red"] * 2}
        row["since"] = pl.Series([0, 0], dtype=pl.Int32).cast(pl.Date)
        predicted = tree.predict(row)
        assert predicted.to_list() == [1, -1]
        assert predicted.dtype == pl.Int8
        assert Tree.from_json(tree.to_json()) == tree

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("", "EOF"),
            ("null", "invalid type"),
            ("{}", "format"),
            ("[]", "invalid length"),
            ("NaN", "expected"),
            ("\ud7ff", "expected value"),
            ('{"format":"lattree.tree"}', "version"),
            ('{"format":"other","version":1}', '"other"'),
            (
                '{"format":"lattree.tree","version":3}',
                "format version 3; this version of lattree reads versions 1 and 2",
            ),
            ('{"format":"lattree.tree","version":-1}', "-1"),
            ('{"format":"lattree.tree","version":1e99}', "1e"),
            ('{"format":"lattree.tree","version":1}', "schema"),
            ("[" * 100_000, "sequence"),
            ('{"format":"lattree.tree","version":1,"x":' + "[" * 100_000, "EOF"),
            ('{"format":"lattree.tree","version":1,"schema":' + "[" * 100_000, "EOF"),
        ],
    )
    def test_what_is_no_tree(self, text, why):
        with pytest.raises(TreeError, match=re.escape(why)):
            Tree.from_json(text)

    def test_a_text_that_is_none(self):
        for wrong in (None, 3, b"{}", {}):
            with pytest.raises(TypeError):
                Tree.from_json(wrong)

    def test_no_prefix_of_a_tree_is_a_tree(self, grown):
        text = grown[2].to_json()
        for end in range(0, len(text) - 1, 3):
            with pytest.raises(TreeError):
                Tree.from_json(text[:end])

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            (lambda t: t.pop("nodes"), "nodes"),
            (lambda t: t.update(nodes=[]), "it has no node"),
            (lambda t: t["nodes"].pop(), "does not exist"),
            (lambda t: t["nodes"].append(t["nodes"][-1]), "no node leads here"),
            (lambda t: t["nodes"][0].update(children=[0, 1]), "does not come after it"),
            (lambda t: t["nodes"][0].update(children=[1, 2**32]), "invalid value"),
            (lambda t: t["nodes"][0].update(children=[1]), "1 children"),
            (lambda t: t["nodes"][0].update(default=2), "default branch is 2"),
            (lambda t: t["nodes"][0].update(masses=[-1, 1]), "a mass is -1"),
            (lambda t: t["nodes"][0].update(masses=[1e308, 1e308]), "no finite sum"),
            (lambda t: t["nodes"][0].update(test={"missing": {"feature": 99}}), "feature 99"),
            (lambda t: t["nodes"][0].update(test={"is": {"feature": 0, "level": 0}}), "does not fit"),
            (lambda t: t["nodes"][0].update(test={"resembles": {"feature": 0}}), "resembles"),
            (lambda t: t["nodes"][0].update(surprise=1), "surprise"),
            (lambda t: t["nodes"][-1].update(label=7), "class 7 does not exist"),
            (lambda t: t["nodes"][-1].update(masses=[1]), "1 masses"),
            (lambda t: t["schema"].update(target=None), "no target"),
            (lambda t: t["schema"]["features"].pop(), "feature"),
            (lambda t: t["schema"]["features"].append(t["schema"]["features"][0]), "named"),
            (lambda t: t["schema"]["features"][0].update(kind={"continuous": "complex"}), "complex"),
            (lambda t: t["policies"].update(missing="guess"), "guess"),
        ],
    )
    def test_damaged(self, change, why):
        tree = json.loads(GOLDEN.read_text(encoding="utf-8"))
        change(tree)
        with pytest.raises(TreeError, match=why):
            Tree.from_json(json.dumps(tree))

    def test_any_change_of_a_byte_is_refused_or_gives_a_tree_that_works(self, grown):
        frame, _, tree = grown
        text = tree.to_json()
        rng = np.random.default_rng(0)
        alphabet = '0123456789-.eE"{}[],:truefalsn\\ \x00x'
        accepted = refused = 0
        for _ in range(1500):
            at = int(rng.integers(len(text)))
            put = alphabet[rng.integers(len(alphabet))]
            changed = text[:at] + put * int(rng.integers(0, 3)) + text[at + int(rng.integers(0, 3)) :]
            try:
                other = Tree.from_json(changed)
            except TreeError:
                refused += 1
                continue
            accepted += 1
            assert other.to_text()
            assert len(other.rules()) == other.n_leaves
            try:
                predicted = other.predict(frame)
            except DataError:  # of another column, or a kind that this one is not
                continue
            assert len(predicted) == len(frame)
        assert accepted > 50
        assert refused > 500

    def test_unknown_keys_at_the_top_are_for_later_versions(self, grown):
        tree = json.loads(grown[2].to_json())
        tree["note"] = "from a later version"
        assert Tree.from_json(json.dumps(tree)) == grown[2]

    def test_arrow_in_json_out(self, grown):
        frame, data, tree = grown
        table = pa.Table.from_batches(frame.to_arrow().to_batches(max_chunksize=7))
        assert Tree.from_json(tree.to_json()).predict(table).to_pylist() == tree.predict(data).to_list()
