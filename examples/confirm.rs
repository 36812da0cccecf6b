//! Confirms the least errors of a tree over all thresholds by a second method, see `tests/continuous/sweep.rs`.
//!
//! `cargo run --release --example confirm -- FILE DEPTH ERRORS [FEATURE...]` reads rows of numbers between blanks, the
//! class (0 or 1) first, and asks per feature of the root, or of those given, whether a tree has fewer errors; it fails if
//! one has, or if the search's tree has more.

#[path = "../tests/continuous/sweep.rs"]
mod sweep;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use lattree::data::{Column, Dataset, Feature, Kind, Labels, NumericType, Schema, Target, TargetSchema, Task};
use lattree::optimal::{Board, Engine, Params, search};
use lattree::tree::{Leaf, Node, Test, Threshold, Tree};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, depth, errors, features @ ..] = &args[..] else { return Err("FILE DEPTH ERRORS [FEATURE...]".into()) };
    let (depth, errors): (u32, u32) = (depth.parse()?, errors.parse()?);
    let (columns, classes) = read(file)?;
    let features: Vec<usize> = match features {
        [] => (0..columns.len()).collect(),
        _ => features.iter().map(|feature| feature.parse()).collect::<Result<_, _>>()?,
    };

    let begin = Instant::now();
    let (mut sweep, all) = sweep::Sweep::new(&columns, &classes);
    let whole = sweep.least(&all, depth.saturating_sub(1), u32::MAX);
    println!("depth {}: {whole} errors", depth.saturating_sub(1));
    // One more than claimed, to see also that as few can be.
    let mut least = whole.min(errors + 1);
    for feature in features.into_iter().filter(|_| depth > 0) {
        let (before, now) = (sweep.problems, Instant::now());
        least = sweep.least_below(&all, feature, depth, whole, least);
        let (problems, seconds) = (sweep.problems - before, now.elapsed().as_secs_f64());
        println!("feature {feature} at the root: {problems} problems of depth two, {seconds:.1} s");
    }
    println!("{} problems of depth two, {:.1} s", sweep.problems, begin.elapsed().as_secs_f64());
    if least < errors {
        println!("a tree of depth {depth} has {least} errors");
        return Ok(ExitCode::FAILURE);
    }
    println!("no tree of depth {depth} has fewer than {errors} errors");
    println!("{} has {errors} errors", if least == errors { "one" } else { "none of these" });

    let params = Params { max_depth: depth, engine: Engine::Continuous, threads: Some(1), ..Params::default() };
    let params = params.checked()?;
    let found = search(&dataset(&columns, &classes)?, &params, &params.budget(), &Board::new())?;
    let wrong = (0..classes.len()).filter(|&row| class_of(&found.tree, &columns, row) != classes[row]).count();
    let nodes = found.tree.n_nodes();
    println!(
        "the search's tree: {} errors, {wrong} counted; {nodes} nodes, depth {}",
        found.objective,
        found.tree.depth()
    );
    Ok(if wrong == errors as usize { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

type Table = (Vec<Vec<f64>>, Vec<u32>);

fn read(file: &str) -> Result<Table, Box<dyn Error>> {
    let (mut columns, mut classes) = (Vec::new(), Vec::new());
    for line in std::fs::read_to_string(file)?.lines() {
        let mut cells = line.split_whitespace();
        let Some(class) = cells.next() else { continue };
        classes.push(class.parse()?);
        let cells = cells.map(str::parse).collect::<Result<Vec<f64>, _>>()?;
        columns.resize(cells.len(), Vec::new());
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
    }
    let is_whole = columns.iter().all(|column| column.len() == classes.len());
    if is_whole && !columns.is_empty() { Ok((columns, classes)) } else { Err("not a table".into()) }
}

fn dataset(columns: &[Vec<f64>], classes: &[u32]) -> lattree::Result<Dataset> {
    let kind = Kind::Continuous(NumericType::Float);
    let feature = |index| Feature { name: format!("x{index}"), kind: kind.clone(), dtype: String::new() };
    let task = Task::Classes(Labels::Integers(vec![0, 1]));
    let target = TargetSchema { name: "y".into(), task, dtype: String::new() };
    let schema = Schema { features: (0..columns.len()).map(feature).collect(), target: Some(target) }.checked()?;
    let cells = columns.iter().cloned().map(Column::Floats).collect();
    Dataset::new(Arc::new(schema), cells, classes.len(), Target::Classes(classes.into()), None, None)
}

/// What a tree says of a row.
fn class_of(tree: &Tree, columns: &[Vec<f64>], row: usize) -> u32 {
    let mut node = 0;
    loop {
        match &tree.nodes()[node] {
            Node::Split(split) => {
                let Test::AtMost { feature, threshold: Threshold::Float(threshold) } = split.test else {
                    unreachable!("floats are cut")
                };
                node = split.children[usize::from(columns[feature as usize][row] > threshold)] as usize;
            }
            Node::Leaf(Leaf::Class { label, .. }) => return *label,
            Node::Leaf(Leaf::Number { .. }) => unreachable!("classes are predicted"),
        }
    }
}
