"""The command line in plain words: help, errors as typed, columns and their roles, standard input, rows held out."""

import io
import json
import re

import polars as pl
import pytest
from typer.testing import CliRunner

import lattree
from lattree import datasets, experiments
from lattree.cli import app
from lattree.cli._command import as_typed

COMMANDS = ["optimal", "policy", "greedy", "evaluate", "distinct", "select", "describe", "datasets", "demo"]


def run(*arguments, code=0, **options):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], **options)
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "shirts.csv"
    path.write_text(
        "size;colour;n;w;y\nS;red;1;1.5;no\nM;red;2;1;no\nL;blue;1;0.5;yes\nM;blue;3;1;yes\nS;red;1;2;yes\n".replace(
            ";", ","
        )
    )
    return path


@pytest.mark.parametrize("command", [None, *COMMANDS])
@pytest.mark.parametrize("columns", [80, 100])
def test_fault_u_help_breaks_no_word(command, columns):
    text = run(*([command] if command else []), "--help", env={"COLUMNS": str(columns)}).output
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert "<bool>" not in text
    assert "sbe" not in text
    assert "..." not in text.replace("A,B,...", "").replace("[ARGS]...", "")
    words = text.split()
    for choice in ("information_gain|gain_ratio|gini|error", "multiway|one_vs_rest|subsets", "elimination|best|accept"):
        if command in ("greedy", "distinct", "select") and (choice[:11] != "elimination" or command == "select"):
            assert any(choice in word for word in words), choice
    if command in ("optimal", "policy", "greedy", "select", "distinct"):
        assert [line for line in lines if line.endswith(":") and not line.startswith(" ")] == [
            "Arguments:",
            "Table:",
            "Tree:",
            "Limits:",
            "Output:",
        ]


def test_fault_u_every_choice_of_an_order_is_told():
    text = " ".join(run("distinct", "--help").output.split())
    for order in ("frontier", "frontier_cases", "reverse", "fixed"):
        assert order in text.partition("--order")[2].partition(">")[2]


def test_fault_u_the_summary_says_what_its_numbers_are():
    done = run("distinct", "weather")
    assert re.match(r"status complete; trees 14, built 14 \(1\.00 for each\), ", done.stderr)


OUT_OF_RANGE = [
    ("optimal", "--max-depth", "99"),
    ("optimal", "--max-nodes", "-1"),
    ("optimal", "--min-leaf", "0"),
    ("optimal", "--node-penalty", "-1"),
    ("optimal", "--max-thresholds", "0"),
    ("optimal", "--time-limit", "-1"),
    ("optimal", "--memory-limit", "-1"),
    ("optimal", "--threads", "0"),
    ("optimal", "--threads", "5000"),
    ("greedy", "--min-cases", "0"),
    ("greedy", "--min-branch", "0"),
    ("greedy", "--max-leaves", "0"),
    ("greedy", "--min-gain", "-1"),
    ("greedy", "--memory-limit", "nan"),
    ("select", "--search-fraction", "2"),
    ("select", "--seed", "-1"),
    ("evaluate", "--folds", "1"),
    ("evaluate", "--max-depth", "21"),
]


@pytest.mark.parametrize(("command", "option", "value"), OUT_OF_RANGE, ids=lambda text: text)
def test_fault_w_errors_name_the_option_as_typed(command, option, value):
    done = run(command, "iris", option, value, code=2)
    assert done.stderr.startswith(f"error: {option} must be ")
    assert "`" not in done.stderr
    assert "None" not in done.stderr


def test_fault_w_errors_about_two_options():
    done = run("optimal", "iris", "--thresholds", "mdlp", "--max-thresholds", "3", code=2)
    assert done.stderr.startswith("error: --max-thresholds must be ")
    done = run("optimal", "iris", "--drop", "petals", code=2)
    assert done.stderr.startswith('error: --drop names "petals"')
    done = run("distinct", "iris", "--require", "petals", code=2)
    assert done.stderr.startswith('error: there is no column "petals"')


def test_fault_w_a_mistyped_option_is_refused():
    done = run("optimal", "iris", "--max-depht", "3", code=2)
    assert "--max-depth" in done.stderr


def test_as_typed():
    options = {"max_depth": "--max-depth", "engine": "--engine"}
    for text, typed in (
        ("`max_depth` must be at least 0, or None, got -1", "--max-depth must be at least 0, got -1"),
        ('`engine` must be "tests" with `rank`', '--engine must be "tests" with `rank`'),
        ('`max_depth` needs engine="tests", got 1', "--max-depth needs --engine tests, got 1"),
        ('column "max_depth" is odd', 'column "max_depth" is odd'),
    ):
        assert as_typed(text, options) == typed


def test_counts_and_weight(table):
    done = run("optimal", table, "--target", "y", "--counts", "n", "--weight", "w", "--max-depth", "1", "--json")
    data = lattree.read_csv(table, "y", counts="n", weight="w")
    assert data.schema.feature_names == ["size", "colour"]
    assert lattree.Tree.from_json(done.stdout) == lattree.OptimalTreeSearch(max_depth=1).run(data).tree
    assert "n: total 8" in run("describe", table, "--target", "y", "--counts", "n").output.replace("counts:", "n:")


@pytest.mark.parametrize("command", ["optimal", "greedy", "evaluate", "distinct", "select", "describe"])
def test_all_commands_have_the_roles_of_columns(command, table):
    more = {"evaluate": ["--folds", "2"], "select": ["--error", "training"]}.get(command, [])
    roles = ("--target", "y", "--counts", "n", "--weight", "w", "--ordinal", "size=S,M,L", "--nominal", "colour")
    run(command, table, *roles, *more)


def test_ordinal(table):
    tree = run("optimal", table, "--target", "y", "--ordinal", "size=S,M,L", "--max-depth", "2", "--json").stdout
    assert lattree.Tree.from_json(tree).schema.features[0].levels == ["S", "M", "L"]
    alone = run("optimal", table, "--target", "y", "--ordinal", "size", "--json").stdout
    assert lattree.Tree.from_json(alone).schema.features[0].levels == ["L", "M", "S"]
    mixed = run("optimal", table, "--target", "y", "--ordinal", "size=S,M,L", "--ordinal", "colour", code=2)
    assert 'error: --ordinal must give the levels of "colour" too' in mixed.stderr
    assert "--ordinal" in run("describe", table, "--ordinal", "sise=S,M,L", code=2).stderr
    assert "not among the levels" in run("describe", table, "--ordinal", "size=S,M", code=2).stderr


def test_rank():
    trees = {
        rank: lattree.Tree.from_json(run("optimal", "restaurant", "--rank", rank, "--json").stdout)
        for rank in ("objective", "objective,nodes")
    }
    assert trees["objective,nodes"].n_nodes == 4 < trees["objective"].n_nodes
    assert run("optimal", "restaurant", "--rank", "nodes", code=2).stdout == ""


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "arrow"])
def test_standard_input(kind, table):
    frame, file = pl.read_csv(table), io.BytesIO()
    match kind:
        case "csv":
            frame.write_csv(file)
        case "csv.gz":
            import gzip

            file.write(gzip.compress(table.read_bytes()))
        case "parquet":
            frame.write_parquet(file)
        case "arrow":
            frame.write_ipc(file)
    options = ("--target", "y", "--max-depth", "2")
    given = run("optimal", "-", *options, input=file.getvalue())
    assert given.stdout == run("optimal", table, *options).stdout


def test_standard_input_that_is_no_table():
    assert "error: standard input is empty" in run("describe", "-", input=b"", code=2).stderr
    damaged = run("describe", "-", input=b"PAR1 and nothing more", code=2).stderr
    assert damaged.startswith("error: standard input cannot be read as Parquet: ")


def test_standard_input_is_read_once(table):
    done = run("optimal", "-", "--target", "y", "--test", "-", input=table.read_bytes(), code=2)
    assert "standard input can be read once only" in done.stderr


@pytest.mark.parametrize("command", ["optimal", "greedy"])
def test_rows_held_out(command, tmp_path):
    learn, test = datasets.load("titanic").split(0.3, seed=1)
    for name, part in (("learn", learn), ("test", test)):
        part.to_polars().write_parquet(tmp_path / f"{name}.parquet")
    files = (tmp_path / "learn.parquet", "--target", "class", "--test", tmp_path / "test.parquet")
    done = run(command, *files, "--max-depth", "2")
    search = lattree.OptimalTreeSearch if command == "optimal" else lattree.GreedyTreeSearch
    tree = search(max_depth=2).run(learn).tree
    leaf = search(max_depth=0).run(learn).tree
    errors = [f"{experiments.error_rate(each, test):.6g}" for each in (tree, leaf)]
    assert f", test error {errors[0]} (of the most frequent class {errors[1]}), " in done.stderr
    assert float(errors[0]) < float(errors[1])
    assert done.stdout == f"{tree.to_text()}\n"


def test_rows_held_out_that_do_not_fit(tmp_path, table):
    other = tmp_path / "other.csv"
    other.write_text("size,y\nS,no\n")
    assert 'lacks "colour"' in run("optimal", table, "--target", "y", "--test", other, code=2).stderr


class TestEvaluate:
    def test_against_the_folds(self):
        done = run("evaluate", "iris", "--folds", "4", "--seed", "2", "--max-depth", "1", "--max-depth", "2", "--json")
        found = {row["search"]: row for row in json.loads(done.stdout)}
        assert list(found) == [
            "most frequent class",
            *(f"{kind}, depth {depth}" for depth in (1, 2) for kind in ("greedy", "optimal")),
        ]
        folds = datasets.load("iris").folds(4, seed=2)
        search = lattree.OptimalTreeSearch(max_depth=2)
        errors = pl.Series([experiments.error_rate(search.run(learn), test) for learn, test in folds])
        row = found["optimal, depth 2"]
        assert row["error"] == pytest.approx(errors.mean())
        assert row["standard_error"] == pytest.approx(errors.std() / 2)
        assert row["unfinished"] == 0
        assert found["most frequent class"]["leaves"] == 1
        assert found["most frequent class"]["error"] == pytest.approx(2 / 3, abs=0.02)
        assert found["optimal, depth 2"]["training_error"] <= found["greedy, depth 2"]["training_error"]

    def test_text(self):
        done = run("evaluate", "weather", "--folds", "2", "--max-depth", "1")
        lines = done.stdout.splitlines()
        assert lines[0].split("  ")[0].strip() == "search"
        assert [line.partition("  ")[0].strip() for line in lines[1:]] == [
            "most frequent class",
            "greedy, depth 1",
            "optimal, depth 1",
        ]
        assert len({len(line.removesuffix("  *")) for line in lines}) == 1
        assert sum(line.endswith("  *") for line in lines) == 1
        assert "unfinished" not in lines[0]
        assert done.stderr.startswith("2 folds, seed 0, ")

    def test_a_limit_is_told(self):
        done = run("evaluate", "weather", "--folds", "2", "--time-limit", "0")
        lines = done.stdout.splitlines()
        assert lines[0].endswith("unfinished")
        assert lines[-1].removesuffix("  *").endswith(" 2")

    def test_a_target_of_numbers_is_refused(self, tmp_path):
        (tmp_path / "t.csv").write_text("x,y\n1,0.5\n2,1.5\n3,2.5\n")
        done = run("evaluate", tmp_path / "t.csv", "--target", "y", "--folds", "2", code=2)
        assert "needs classes, but the target is numbers" in done.stderr


@pytest.mark.parametrize(("shell", "says"), [("bash", "complete"), ("zsh", "compdef"), ("fish", "complete")])
def test_completion_can_be_shown(shell, says, monkeypatch):
    # Outside a known shell, the name is asked for by the variable.
    text = run("--help").output
    assert "--install-completion" in text
    completed = CliRunner().invoke(app, [], env={"_LATTREE_COMPLETE": f"source_{shell}"}, prog_name="lattree")
    assert says in completed.output
    assert "lattree" in completed.output


@pytest.mark.parametrize("command", [("optimal",), ("greedy",), ("select", "--error", "training")])
def test_the_least_mass_of_a_leaf(tmp_path, command):
    path = tmp_path / "t.csv"
    path.write_text("x,w,y\n1,0.5,a\n2,0.25,a\n3,2,b\n4,0.1,b\n")
    for mass, splits in (("0.7", True), ("0.8", False)):
        done = run(*command, path, "--target", "y", "--weight", "w", "--min-leaf-mass", mass)
        assert ("x <= 2" in done.stdout) is splits


def test_greedy_training_errors_are_masses(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,n,y\n1,3,a\n1,2,b\n2,5,b\n")
    assert ", training errors 2, " in run("greedy", path, "--target", "y", "--counts", "n").stderr


@pytest.mark.parametrize("n_done", [0, 1, 2])
def test_ctrl_c_leaves_the_folds_that_are_done(monkeypatch, n_done):
    evaluate = experiments.cross_validate

    def interrupt(*arguments, **keywords):
        report, n_searches = keywords["progress"], len(arguments[0])

        def stop(name, done, runs):
            report(name, done, runs)
            if done == n_done * n_searches or n_done == 0:
                raise KeyboardInterrupt

        return evaluate(*arguments, **(keywords | {"progress": stop}))

    monkeypatch.setattr(experiments, "cross_validate", interrupt)
    done = run("evaluate", "weather", "--folds", "2", "--max-depth", "1", code=130)
    assert f"interrupted after {n_done} of 2 folds" in done.stderr
    assert ("optimal, depth 1" in done.stdout) is bool(n_done)
