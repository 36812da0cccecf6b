"""A tour of lattree: every public name once. It prints little and asserts a lot, so what it says is true."""

import pickle
import tempfile
import warnings
from math import comb
from pathlib import Path

import numpy as np
import polars as pl

import lattree
import lattree.sklearn
from lattree import (
    AcceptableSubsetSearch,
    BackwardEliminationSearch,
    Binarizer,
    Condition,
    Costs,
    Dataset,
    DistinctCounts,
    DistinctTree,
    DistinctTrees,
    DistinctTreeSearch,
    ExhaustiveSubsetSearch,
    Feature,
    GreedyResult,
    GreedyTreeSearch,
    Interrupted,
    Node,
    NodeTest,
    OptimalResult,
    OptimalTreeSearch,
    PolicyProgress,
    PolicyResult,
    PolicyTreeSearch,
    Progress,
    Removal,
    Rule,
    Schema,
    SubsetProgress,
    SubsetResult,
    Tree,
    datasets,
    experiments,
)
from lattree.experiments import Comparison, FoldRow, Stability, Triple, TTest

# A table, and the column to predict. Kinds follow from dtypes; `ordinal` gives text an order, `counts` repeats rows.
people = pl.DataFrame(
    {
        "age": [22, 35, None, 58, 41, 19],
        "city": ["Bern", "Basel", "Bern", None, "Genf", "Basel"],
        "size": ["S", "L", "M", "L", "M", "S"],
        "times": [1, 2, 1, 1, 3, 1],
        "buys": [False, True, False, True, True, False],
    }
)
data = Dataset(people, "buys", ordinal={"size": ["S", "M", "L"]}, counts="times")
schema: Schema = data.schema
assert (schema.feature_names, schema.target, schema.task) == (["age", "city", "size"], "buys", "classes")
assert (schema.classes, schema.target_dtype) == ([False, True], "Boolean")
assert data.target is not None
assert data.target.equals(people["buys"])
age: Feature = schema.features[0]
assert (age.name, age.kind, age.number, age.levels, age.dtype) == ("age", "continuous", "integer", [], "Int64")

# A dict of columns is a table too, and so is an array with names for its columns.
other = Dataset(people.to_dict(), "size", task="classes", nominal=["age"], drop=["city", "buys"], weight="times")
assert other.schema.features[0].levels == ["19", "22", "35", "41", "58"]
square = Dataset.from_arrays(np.eye(4), [0, 1, 0, 1], ["p", "q", "r", "s"])
assert (square.n_rows, square.n_features, len(square)) == (4, 4, 4)

# A second table is mapped onto the first one's schema, by the names of columns and levels.
again = Dataset(people.head(3).reverse(), like=data)
assert (again.schema, again.to_polars()["city"].to_list()) == (schema, ["Bern", "Basel", "Bern"])
with tempfile.TemporaryDirectory() as folder:
    people.write_csv(csv := Path(folder) / "people.csv")
    people.write_parquet(parquet := Path(folder) / "people.parquet")
    people.write_ipc(ipc := Path(folder) / "people.arrow")
    assert lattree.read_csv(csv, "buys").schema == lattree.read_parquet(parquet, "buys").schema
    assert lattree.read_ipc(ipc, like=data).schema == schema

# Bundled tables, and parts of a table.
assert "votes" in {name: datasets.describe(name) for name in datasets.names()}["vote"]
vote = datasets.load("vote")
assert vote.to_polars().equals(datasets.load_frame("vote"))
learn, test = vote.split(0.25, seed=7, stratify=True)
assert len(learn) + len(test) == sum(len(held_out) for _, held_out in vote.folds(3, seed=7)) == 435
assert vote.select(["crime", "immigration"]).take(np.arange(10)).n_features == 2

# An exact search, every parameter spelled out. Optimal means: over the tests that the binarizer offers.
binarizer = Binarizer(thresholds="auto", max_tests=1000, max_thresholds=None, nominal="subsets", missing="own_test")
search = OptimalTreeSearch(
    max_depth=2,
    max_nodes=3,
    min_leaf=1,
    objective="errors",
    class_weight=None,
    abstain=None,
    node_penalty=0.25,
    rank="objective",
    binarizer=binarizer,
    engine="tests",
    unseen="missing",
    time_limit=60.0,
    node_limit=1_000_000,
    memory_limit=100_000_000,
    discrepancies=1,
    effort="proof",
    seed=0,
    threads=1,
)
result: OptimalResult = search.run(data, on_interrupt="return")
assert (result.status, result.gap, result.exact_thresholds, result.resolution) == ("optimal", 0.0, True, 0.25)
assert result.objective == result.lower_bound == result.trace[-1][1]
assert result.tests == binarizer.tests(data)
assert result.stats["nodes"] > 0 < result.seconds
search.cancel()  # stops what this search runs in other threads: nothing here

# The tree alone, from several seeds; pictures of it and of how it was found.
quick = OptimalTreeSearch(max_depth=4, effort="tree", node_limit=1_000, seed=1, threads=1)
assert (quick.effort, quick.seed) == ("tree", 1)
assert quick.run(data).status in ("complete", "optimal")
axes = lattree.plot(result.tree, max_depth=2)
assert lattree.plot_trace(result, ax=axes) is axes

# Other costs than errors: by class, by name, with a label that is no class; or by row. A leaf may abstain, at a price.
prices = Costs([[0, 1, 0.25], [4, 0, 1]], classes=[False, True], labels=[False, True, "ask"])
assert (prices.matrix[1][0], prices.classes, prices.labels) == (4.0, ("false", "true"), ("false", "true", "ask"))
priced = OptimalTreeSearch(max_depth=1, objective=prices, class_weight={True: 2.0}, abstain=0.2).run(data)
assert priced.tree.schema.classes == [False, True, "ask", "abstain"]
even = OptimalTreeSearch(max_depth=2, objective="balanced_errors").run(data)
assert 0 <= even.objective <= 0.5
paid = Dataset(people.select("age", no=pl.lit(1.0), yes=pl.col("times") * 0.5), costs=["no", "yes"])
assert paid.costs is not None
assert paid.costs.columns == ["no", "yes"]
cheapest = OptimalTreeSearch(max_depth=1, objective="costs").run(paid)
assert cheapest.tree.root.costs == {"no": 6.0, "yes": 4.5}

# Policies: rewards of actions in place of a target, and the tree of the greatest sum.
earned = Dataset(people.select("age", visit=pl.col("times") - 1, call=pl.lit(0.5)), rewards=["visit", "call"])
told_rewards: list[PolicyProgress] = []
planner = PolicyTreeSearch(max_depth=1, node_penalty=0.1, abstain=None)
policy: PolicyResult = planner.run(earned, progress=told_rewards.append, on_interrupt="return")
assert (policy.status, policy.gap, policy.upper_bound) == ("optimal", 0.0, policy.reward)
assert all(r.reward is None or r.reward <= r.upper_bound for r in told_rewards)
assert set(policy.tree.predict(people)) <= {"visit", "call"}
planner.cancel()

# All thresholds, however many: no bins. Where both engines offer the same tests, they prove the same tree.
signals = Dataset.from_arrays(np.random.default_rng(0).normal(size=(800, 3)), np.arange(800) % 2)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    cut = OptimalTreeSearch(max_depth=1, engine="tests").run(signals)
assert "thresholds were thinned out" in str(told[0].message)
whole = OptimalTreeSearch(max_depth=1, engine="continuous", binarizer=Binarizer(thresholds="exact")).run(signals)
assert (cut.exact_thresholds, whole.exact_thresholds, len(whole.tests)) == (False, True, 3 * 799)
assert whole.objective <= cut.objective

# A limit is an outcome: the best tree so far, and a bound that holds.
reports: list[Progress] = []
hard_table = datasets.load("ionosphere")
exact = Binarizer(thresholds="exact")
hard = OptimalTreeSearch(max_depth=8, time_limit=0.4, binarizer=exact).run(hard_table, progress=reports.append)
assert (hard.status, 0 <= hard.lower_bound <= hard.objective) == ("time_limit", True)
assert all(r.seconds > 0 and r.nodes >= 0 and 0 <= r.lower_bound <= (r.objective or 351) for r in reports)


# Ctrl-C, which this callback plays, is a KeyboardInterrupt that has what was found.
def stop(report: Progress) -> None:
    """Raise what Ctrl-C raises."""
    raise KeyboardInterrupt


try:
    found: OptimalResult = OptimalTreeSearch(max_depth=8, engine="continuous").run(hard_table, progress=stop)
except Interrupted as stopped:
    found = stopped.result
assert (found.status, found.objective >= found.lower_bound) == ("interrupted", True)

# A greedy search, every parameter spelled out: at each node the best split, and no way back.
grower = GreedyTreeSearch(
    criterion="gini",
    min_cases=2,
    min_branch=None,
    min_leaf=1,
    max_depth=3,
    min_gain=0.01,
    max_leaves=4,
    nominal_splits="multiway",
    missing="fractional",
    class_weight={True: 2},
    costs=[[0, 1], [3, 0]],
    unseen="majority",
    time_limit=60.0,
    memory_limit=100_000_000,
    threads=1,
)
grown: GreedyResult = grower.run(data, on_interrupt="return")
assert (grown.status, grown.tree.depth <= 3, grown.tree.n_leaves <= 4, grown.seconds > 0) == (
    "complete",
    True,
    True,
    True,
)
grower.cancel()

# All distinct greedy trees over the subsets of the columns, one by one or counted. The parameters of GreedyTreeSearch
# but `max_leaves` are those of all searches over subsets.
lister = DistinctTreeSearch(order="frontier", ordered=True, required="age", candidates=None, memory_limit=10**8)
trees: DistinctTrees = lister.run(data)
with trees:
    first: DistinctTree = next(trees)
    assert first.tree == GreedyTreeSearch().run(data).tree
    assert first.features == tuple(first.tree.features)
    assert all("age" in other.features for other in trees)
trees.close()
watched: list[SubsetProgress] = []
counts: DistinctCounts = lister.count(data, progress=watched.append, on_interrupt="return")
assert (trees.status, counts.status, trees.counts.distinct) == ("complete", "complete", counts.distinct)
assert sum(counts.by_size) == counts.distinct <= counts.built
assert counts.overhead == counts.built / counts.distinct
assert all(w.seconds > 0 and w.built >= w.distinct >= 0 and 0 <= w.covered <= 1 for w in watched)

# Which columns? Trees are grown on one part of a table, and judged by the errors that they make on another.
building, held_out = learn.split(0.3, seed=1)
eliminated: SubsetResult = BackwardEliminationSearch(error="search", white_box=True).run(building, held_out)
assert (eliminated.status, eliminated.lower_bound, eliminated.seconds > 0) == ("complete", 0, True)
assert eliminated.objective == eliminated.error
assert len(eliminated.path) + len(eliminated.features) == 16
last: Removal = eliminated.path[-1]
assert (last.error, last.feature in eliminated.features) == (eliminated.error, False)
chooser = AcceptableSubsetSearch(delta=0.01, feature_penalty=0.001, error="search", min_cases=16, time_limit=2.0)
chosen = chooser.run(building, held_out, progress=watched.append, on_interrupt="return")
assert (chosen.status in ("optimal", "acceptable", "time_limit"), 0 <= chosen.gap <= 1) == (True, True)
assert all(w.lower_bound <= (w.error or 1) for w in watched)
few = building.select(list(eliminated.features[:6]))
every = ExhaustiveSubsetSearch(feature_penalty=0.0, error="training", max_features=3).run(few)
assert (every.status, every.stats["built"]) == ("optimal", sum(comb(few.n_features, k) for k in range(4)))
assert every.error == (every.tree.predict(few) != few.target).mean()
chooser.cancel()

# Trees print, export, come back, and predict in the values of the target.
tree: Tree = result.tree
print(f"lattree {lattree.__version__} says:", tree.to_text(max_depth=5), sep="\n")
assert (tree.depth, tree.n_nodes, tree.n_leaves, tree.features, tree.unseen) == (2, 2, 3, ["age", "city"], "missing")
rule: Rule = tree.rules()[0]
assert (rule.leaf, rule.prediction, rule.n_rows, rule.mass, rule.errors, rule.masses) == (1, False, 1, 1, 0, [1, 0])
condition: Condition = rule.conditions[0]
assert (str(condition), condition.column, condition.operator, condition.threshold) == ("age <= 20", "age", "<=", 20)
assert (condition.levels, condition.or_missing) == ([], False)
node: Node = tree.root.children[1]
assert (node.index, node.depth, node.is_leaf, node.parent == tree.root, node.tree == tree) == (2, 1, False, True, True)
assert (str(node.condition), node.n_rows, node.mass, node.errors) == ("age > 20 or missing", 5, 8, 2)
assert (node.prediction, node.masses, node.share) == (True, [2, 6], 8 / 9)
asked = node.test
assert isinstance(asked, NodeTest)
assert (asked.column, asked.feature, asked.kind, asked.levels) == ("city", 1, "is", ["Bern"])
assert (asked.threshold, asked.missing) == (None, 1)
assert tree.nodes()[2] == node
assert tree.to_frame()["n_rows"].to_list() == [step.n_rows for step in tree.nodes()]
row = {"age": 40, "city": "Genf"}
assert [step.index for step in tree.path(row)] == [0, 2, 4]
print(tree.explain(row))
assert tree.feature_importances(criterion="gini").sum() == 1
assert [part.tolist() for part in tree.decision_path(data.take([0]))] == [[0, 3], [0, 2, 3]]
assert tree.to_dot(max_depth=1).startswith("digraph")
assert Tree.from_json(tree.to_json()) == pickle.loads(pickle.dumps(result)).tree == tree
assert tree.predict(people).equals(people["buys"])
assert tree.predict_proba(data).columns == ["false", "true"]
assert tree.apply({"age": [19, 40], "city": ["Bern", "Genf"]}).to_list() == [1, 4]

# Which search? All see the same folds; scikit-learn's splitters do as well.
depths = {f"depth {depth}": OptimalTreeSearch(max_depth=depth) for depth in range(3)}
validated = experiments.cross_validate(depths, datasets.load("iris"), cv=5, groups=None, seed=0, progress=None)
assert validated.filter("one_standard_error")["search"].item() == "depth 2"
halves: list[tuple[range, range]] = [(range(0, 150, 2), range(1, 150, 2))]
assert experiments.cross_validate(depths["depth 2"], datasets.load("iris"), cv=halves)["folds"].item() == 1

# Ways to select features, compared on the same folds.
selections = {"all": experiments.every_feature, "width": lambda building, search: ["petalwidth"]}
compared: Comparison = experiments.compare(
    datasets.load("iris"), selections, k=5, repeats=2, tree_search=GreedyTreeSearch()
)
fold: FoldRow = compared.rows[0]
assert (fold.method, fold.status, len(fold.selected), compared.methods) == ("all", None, 4, ["all", "width"])
assert fold.n_features <= 4
sizes = compared.summary(alpha=0.05, corrected=True).filter(pl.col("measure") == "n_features")
assert (sizes["method"].to_list(), sizes["mark"].to_list(), compared.frame.height) == (
    compared.methods,
    ["", "best"],
    20,
)
with_all, with_width = (compared.values("generalisation_error", method) for method in compared.methods)
width_test: TTest = experiments.paired_t_test(with_all, with_width, test_ratio=1 / 4)
assert (width_test.degrees, 0 < width_test.p_value < 1) == (9, True)
stable: Stability = compared.stability("width")
assert stable == experiments.stability([["petalwidth"]] * 10, compared.features)
dealt: Triple = next(experiments.triples(datasets.load("iris"), k=5, repeats=2, search_fraction=0.25, seed=0))
assert (len(dealt.building), len(dealt.search), len(dealt.test)) == (90, 30, 30)
assert experiments.error_rate(GreedyTreeSearch().run(dealt.building).tree, dealt.search) < 0.2

# Estimators for scikit-learn learn from tables as they are.
iris = datasets.load("iris").to_polars()
measures, species = iris.drop("class"), iris["class"].to_numpy()
for model in (lattree.sklearn.OptimalTreeClassifier(max_depth=2), lattree.sklearn.GreedyTreeClassifier(max_depth=2)):
    assert model.fit(measures, species).score(measures, species) == 0.96
for selector in (lattree.sklearn.BackwardEliminationSelector(), lattree.sklearn.BestSubsetSelector()):
    assert "petal" in selector.set_params(random_state=0).fit(measures, species).get_feature_names_out()[-1]
actions = lattree.sklearn.PolicyTreeEstimator(max_depth=1).fit(measures, np.eye(3)[np.arange(150) // 50])
assert actions.score(measures, np.eye(3)[np.arange(150) // 50]) == 100 / 150
assert lattree.sklearn.Binarizer(thresholds="mdlp").fit(measures, species).tests_[0].startswith("sepallength <= ")

# Every error is a LattreeError and a ValueError, and says what is wrong.
for kind, wrong in (
    (lattree.DataError, lambda: Dataset({"x": [1]}, "y")),
    (lattree.ParameterError, lambda: OptimalTreeSearch(max_depth=99)),
    (lattree.TreeError, lambda: Tree.from_json("{}")),
):
    try:
        wrong()
    except lattree.LattreeError as error:
        print(f"{kind.__name__}: {error}")
