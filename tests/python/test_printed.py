"""What is printed says what is done: text, rules and graphs, read word by word, predict what the tree predicts."""

import copy
import json
import math
import pickle
import random

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import lattree
from helpers import CRITERIA, MISSING, NOMINAL_SPLITS, UNSEEN
from lattree import Binarizer, DataError, Dataset, Tree, cli
from printed import labels_by_rules, orders_of, predict, read_dot, read_rule, read_text

LEVELS = ["red", "green", "blue", "grey", "black", "white", "pink"]
SIZES = ["S", "M", "L", "XL"]
PLAIN = {"x": "x", "k": "k", "z": "z", "c": "c", "s": "s", "y": "y"}


def table(rng, names=PLAIN, levels=LEVELS, classes=("no", "yes")):
    """A small random table; in half of the columns some cells are missing, but for `x` only where that is large."""
    n = rng.randint(4, 24)
    few = levels[: rng.randint(1, len(levels))]
    x = [rng.choice([0.5, 1.0, 1.5, 2.25, 1e-3, 7.0]) for _ in range(n)]
    columns = {
        "x": pl.Series(x, dtype=pl.Float64),
        "k": pl.Series([rng.randint(-2, 3) for _ in range(n)], dtype=pl.Int64),
        "z": pl.Series([rng.random() for _ in range(n)], dtype=pl.Float64),
        "c": pl.Series([rng.choice(few) for _ in range(n)], dtype=pl.String),
        "s": pl.Series([rng.choice(SIZES) for _ in range(n)], dtype=pl.Enum(SIZES)),
    }
    for name in columns:
        if rng.random() < 0.5:
            share = rng.choice([0.1, 0.5])
            gone = [(value > 1 or name == "x") and rng.random() < share for value in x]
            kept = [None if is_gone else value for is_gone, value in zip(gone, columns[name], strict=True)]
            columns[name] = pl.Series(kept, dtype=columns[name].dtype)
    frame = pl.DataFrame({names[name]: column for name, column in columns.items()})
    labels = [rng.choice(classes) for _ in range(n)]
    return frame.with_columns(pl.Series(names["y"], labels))


def searches(rng):
    """A search of a random kind, and what it does with unseen levels."""
    unseen = rng.choice(["majority", "missing"])
    kind = rng.randrange(3)
    if kind == 0:
        binarizer = Binarizer(missing=rng.choice(["own_test", "fails"]), nominal=rng.choice(["one_vs_rest", "subsets"]))
        engine = rng.choice(["tests", "continuous"])
        options = {"binarizer": binarizer, "engine": engine}
        return lattree.OptimalTreeSearch(max_depth=rng.randint(0, 3), unseen=unseen, **options).run, unseen
    options = {
        "criterion": rng.choice(CRITERIA),
        "nominal_splits": rng.choice(NOMINAL_SPLITS),
        "min_leaf": rng.randint(1, 2),
        "unseen": unseen,
    }
    missing = [mode for mode in MISSING if kind == 1 or mode != "drop"]
    options["missing"] = rng.choice(missing)
    if kind == 1:
        return lattree.GreedyTreeSearch(**options).run, unseen
    return lattree.AcceptableSubsetSearch(error="training", **options).run, unseen


def probes(rng, tree, frame, names, levels, n=24):
    """Rows at, just below and just above what the tree asks, without values, and of levels that it never saw."""
    floats = {0.5, 1.0, 9.0}
    wholes = {-2, 0, 3}
    for node in json.loads(tree.to_json())["nodes"]:
        threshold = node.get("test", {}).get("at_most", {}).get("threshold", {})
        if "float" in threshold:
            t = float(threshold["float"])
            floats |= {t, math.nextafter(t, math.inf), math.nextafter(t, -math.inf)}
        if "integer" in threshold:
            wholes |= {threshold["integer"], threshold["integer"] + 1}
    pools = {"x": floats, "z": floats, "k": wholes, "c": [*levels, "never seen"], "s": SIZES}
    columns = {}
    for name, pool in pools.items():
        cells = [None if rng.random() < 0.35 else rng.choice(sorted(pool)) for _ in range(n)]
        columns[names[name]] = pl.Series(cells, dtype=frame[names[name]].dtype)
    return pl.DataFrame(columns)


def compare(rng, frame, names, levels):
    """How many predictions text, graph and rules made, all of them right, and how many nodes said "or missing"."""
    data = Dataset(frame, names["y"])
    search, unseen = searches(rng)
    try:
        tree = search(data).tree
    except DataError:  # all rows were dropped
        return 0, 0, 0
    orders = orders_of(tree.schema)
    rows = probes(rng, tree, frame, names, levels)
    truth = tree.predict(rows).to_list()
    text, dot = read_text(tree.to_text()), read_dot(tree.to_dot())
    rules = [read_rule(str(rule)) for rule in tree.rules()]
    assert [label for _, label in rules] == [rule.prediction for rule in tree.rules()]
    spread = json.loads(tree.to_json())["policies"]["missing"] == "fractional"
    known = set(orders[names["c"]][1])
    told = by_rules = 0
    for row, label in zip(rows.iter_rows(named=True), truth, strict=True):
        for printed in (text, dot):
            said = predict(printed, row, orders, unseen)
            assert said in (label, None), (str(tree), row)
            told += said is not None
        asked = [row[name] for name in tree.features]
        new = row[names["c"]] is not None and row[names["c"]] not in known
        if (spread and (None in asked or new)) or (new and unseen == "majority"):
            continue
        assert labels_by_rules(rules, row, orders, unseen) == [label], (str(tree), row)
        by_rules += 1
    return told, by_rules, str(tree).count(" or missing")


@UNSEEN
class TestMissing:
    def test_fault_d_what_is_printed_predicts(self):
        rng = random.Random(19)
        told, by_rules, said = np.sum([compare(rng, table(rng), PLAIN, LEVELS) for _ in range(1200)], axis=0)
        assert told > 0.95 * 1200 * 2 * 24
        assert by_rules > 12_000
        assert said > 1000

    def test_fault_d_as_it_was_found(self):
        frame = {"a": [0, 0, 0, 1, 1], "b": [1, 2, 3, None, None], "y": ["p", "p", "q", "r", "r"]}
        tree = lattree.OptimalTreeSearch(max_depth=2).run(Dataset(frame, "y")).tree
        row = {"a": [0], "b": [None]}
        assert predict(read_text(str(tree)), {"a": 0, "b": None}, orders_of(tree.schema)) == tree.predict(row)[0]
        assert "b > 2 or missing: q (1)" in str(tree)

    def test_it_is_said_only_where_such_a_row_can_come(self):
        frame = {"x": range(1, 11), "y": list("abaabbbbbb")}
        tree = lattree.OptimalTreeSearch(max_depth=2).run(Dataset(frame, "y")).tree
        assert str(tree).split("\n") == [
            "x <= 2",
            "|   x <= 1: a (1)",
            "|   x > 1: b (1)",
            "x > 2 or missing",
            "|   x <= 4: a (2)",
            "|   x > 4 or missing: b (6)",
        ]
        fractional = lattree.GreedyTreeSearch().run(Dataset(frame, "y")).tree
        assert "missing" not in str(fractional) + fractional.to_dot()

    def test_it_stands_in_every_export_and_in_files_of_old(self):
        tree = lattree.OptimalTreeSearch(max_depth=1).run(lattree.datasets.load("iris")).tree
        assert str(tree).endswith("petallength > 2.4 or missing: Iris-versicolor (100/50)")
        assert 'n0 -> n2 [label="no or missing"];' in tree.to_dot()
        assert str(tree.rules()[1]) == "if petallength > 2.4 or missing: Iris-versicolor (100/50)"
        assert str(Tree.from_json(tree.to_json())) == str(tree)


PARTS = [
    *("a", "red", " ", "  ", "or missing", "Other or missing", "missing", "known", "any other", "is", "not red"),
    *("in", "<=", ">", "a <= 5", "=", "= 3", "and", "if ", "or", "each of", "each level of", "always", "none", "..."),
    *("yes (3)", "(3/1)", "(", ")", "[red]", "[41] ", "|   ", ":", ": ", ",", "{", "}", "{}", '"', "\\", "\\n"),
    *("&amp;", "yes", "no", "is not", "x is y"),
    *("<b>", "->", ";", "]", "\n", "\r\n", "\t", "\0", "\x7f", "\x1b[31m", "\x85", "\xa0", "\xad", "\u202e", "\u2066"),
    *("\u200b", "\u200d", "\ufeff", "\u2028", "\u2029", "\u0301", "\ufe0f", "\u3164", "\U0001f333"),
]
UGLY = ["a\nb", "a\x1b[31mb", "a\u202eb", "a\u200bb", "a\u2028b", 'a"b', "a\\b", "a, b", "[red]", "a <= 5", "not a"]


def names_of(rng, n):
    made = {}
    while len(made) < n:
        made[rng.choice(["", " "]).join(rng.choice(PARTS) for _ in range(rng.randint(0, 4)))] = None
    return list(made)


class TestNames:
    @UNSEEN
    def test_fault_f_any_name_is_read_back(self):
        rng = random.Random(5)
        for _ in range(400):
            columns = names_of(rng, 6)
            names = dict(zip(PLAIN, columns, strict=True))
            levels = [level for level in names_of(rng, 9) if level != "never seen"][:7]
            frame = table(rng, names, levels, tuple(names_of(rng, 2)))
            compare(rng, frame, names, levels)

    def test_fault_f_names_that_read_as_conditions(self):
        frame = {"a <= 5": ["Other or missing", "b"] * 2, "y": ["yes (3)", "no\n"] * 2}
        tree = lattree.GreedyTreeSearch().run(Dataset(frame, "y")).tree
        assert str(tree).split("\n") == [
            '"a <= 5" is "Other or missing": "yes (3)" (2)',
            '"a <= 5" is b: "no\\n" (2)',
        ]
        assert [str(rule) for rule in tree.rules()] == [
            'if "a <= 5" is "Other or missing": "yes (3)" (2)',
            'if "a <= 5" is b: "no\\n" (2)',
        ]
        assert [rule.prediction for rule in tree.rules()] == ["yes (3)", "no\n"]

    @pytest.mark.parametrize("name", UGLY)
    def test_fault_x11_every_output_shows_names_on_their_line(self, name):
        frame = {
            name: ["u", name, "u", name],
            f"n{name}": [1.0, 2.0, 3.0, 4.0],
            f"y{name}": [f"p{name}", "q", f"p{name}", "q"],
            f"w{name}": [1, 2, 1, 1],
        }
        data = Dataset(frame, f"y{name}", counts=f"w{name}")
        optimal = lattree.OptimalTreeSearch(max_depth=1).run(data)
        greedy = lattree.GreedyTreeSearch().run(data)
        subset = lattree.AcceptableSubsetSearch(error="training").run(data)
        eliminated = lattree.BackwardEliminationSearch(error="training").run(data)
        with lattree.DistinctTreeSearch().run(data) as trees:
            listed = next(trees)
        printed = [data, data.schema, *data.schema.features, optimal, greedy, subset, optimal.tree, listed]
        printed += [*optimal.tree.rules(), *eliminated.path, lattree.BackwardEliminationSearch(required=[name])]
        texts = [text for thing in printed for text in (repr(thing), str(thing))]
        texts += [optimal.tree.to_dot(), *optimal.tests]
        for call in (
            lambda: data.select("nowhere"),
            lambda: Dataset(frame, f"z{name}"),
            lambda: optimal.tree.predict({"nowhere": [1]}),
            lambda: lattree.GreedyTreeSearch(class_weight={f"z{name}": 1}).run(data),
            lambda: lattree.GreedyTreeSearch(unseen="error").run(data).tree.predict({name: [f"t{name}"]}),
            lambda: Dataset({name: [1, "a"]}),
        ):
            with pytest.raises(lattree.LattreeError) as error:
                call()
            texts.append(str(error.value))
        for text in texts:
            assert all(line.isprintable() for line in text.split("\n")), text
            assert "\n" not in name or "a\nb" not in text

    def test_fault_x11_the_command_line_prints_names_and_no_markup(self, tmp_path):
        path = tmp_path / "table.csv"
        frame = pl.DataFrame({"[red]a\x1b[0m": ["u", "v"] * 3, "b\u202e": [1, 2] * 3, "c  d": ["[/red]", "x\ny"] * 3})
        frame.write_csv(path)

        def lines(*arguments, code=0):
            done = CliRunner().invoke(cli.app, [arguments[0], str(path), *arguments[1:]])
            assert done.exit_code == code, done.output
            assert done.output.isascii()
            assert all(line.isprintable() for line in done.output.splitlines())
            return done.output

        assert '"c  d": 2 classes: "[/red]" (3), "x\\ny" (3)' in lines("describe", "--target", "c  d")
        assert '"[red]a\\u{1b}[0m" is u: "[/red]" (3)' in lines("greedy", "--target", "c  d")
        assert '"[red]a\\u{1b}[0m"\n' in lines("distinct", "--target", "c  d", "--list")
        assert 'features: "[red]a\\u{1b}[0m"' in lines("select", "--target", "c  d", "--error", "training")
        assert '"[red]a\\u{1b}[0m", "b\\u{202e}", "c  d"' in lines("greedy", code=2)

    def test_half_a_pair_of_surrogates_is_an_error_or_an_escape(self):
        assert lattree._dtypes.quoted("a\ud800b") == '"a\\u{d800}b"'
        assert lattree._core._shown("\udcff") == '"\\u{dcff}"'
        for table in (
            {"\ud800": [1, 2], "y": [0, 1]},
            {"a": ["\ud800", "b"], "y": [0, 1]},
            {"a": [1, 2], "y": ["\ud800", "b"]},
        ):
            with pytest.raises(DataError, match=r"\\u\{d800\}"):
                Dataset(table, "y")

    def test_very_long_names_are_cut_in_errors(self):
        long = "a" * 99_999 + "b"
        data = Dataset({"f": [1.0, 2.0], "y": [0, 1]}, "y")
        tree = lattree.GreedyTreeSearch().run(data).tree
        for call in (lambda: tree.predict({long: [1.0]}), lambda: Dataset({"f": [1.0, 2.0], long: [1, 2]}, "y")):
            with pytest.raises(DataError, match=r'aaa" \.\.\. "a+b"') as caught:
                call()
            assert len(str(caught.value)) < 500

    def test_names_are_quoted_only_where_needed(self):
        shown = lattree._core._shown
        for plain in ["sepal length (cm)", "<=50K", ">50K", "Some-college", "it's", "e&f", "3 or more", "naïve"]:
            assert shown(plain) == plain
        assert shown("yes (3)", is_class=True) == '"yes (3)"'


def test_fault_h_and_x12_all_that_is_handed_out_pickles():
    data = lattree.datasets.load("titanic")
    seen = []
    result = lattree.OptimalTreeSearch(max_depth=3).run(data)
    hard = lattree.datasets.load("ionosphere")
    lattree.OptimalTreeSearch(max_depth=8, time_limit=0.6).run(hard, progress=seen.append)
    lattree.DistinctTreeSearch(time_limit=0.6).count(hard, progress=seen.append)
    assert {type(report) for report in seen} == {lattree.Progress, lattree.SubsetProgress}
    things = [*seen, *result.tree.rules(), *data.schema.features, data.schema]
    things += [condition for rule in result.tree.rules() for condition in rule.conditions]
    things += [*result.tree.nodes(), *[node.test for node in result.tree.nodes() if not node.is_leaf]]
    things += [result.tree, lattree.DistinctTreeSearch().count(data)]
    for thing in things:
        for again in (pickle.loads(pickle.dumps(thing)), copy.copy(thing), copy.deepcopy(thing)):
            assert (type(again), again, repr(again)) == (type(thing), thing, repr(thing))
    rule = result.tree.rules()[0]
    again = pickle.loads(pickle.dumps(rule))
    assert (again.prediction, again.masses, again.conditions) == (rule.prediction, rule.masses, rule.conditions)
    assert len({*result.tree.rules(), *pickle.loads(pickle.dumps(result.tree.rules()))}) == result.tree.n_leaves
    assert len({*data.schema.features, *copy.deepcopy(data.schema.features)}) == data.n_features


def test_x12_a_column_of_one_level_is_asked_whether_its_value_is_missing():
    data = Dataset({"c": ["a", None, "a", None], "y": [0, 1, 0, 1]}, "y")
    for engine in ("tests", "continuous"):
        result = lattree.OptimalTreeSearch(max_depth=1, engine=engine).run(data)
        assert result.tests == ["c is missing"]
        assert str(result.tree) == "c is missing: 1 (2)\nc is known: 0 (2)"
        fails = lattree.OptimalTreeSearch(max_depth=1, engine=engine, binarizer=Binarizer(missing="fails")).run(data)
        assert fails.tests == ["c is a"]
        assert str(fails.tree) == "c is a: 0 (2)\nc is not a or missing: 1 (2)"
