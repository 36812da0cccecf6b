//! A greedy tree for every subset of the features, each grown on its own.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use lattree::data::Dataset;
use lattree::greedy::{self, search};
use lattree::subsets::Params;
use lattree::tree::Tree;

/// Features, a bit per column.
pub type Set = u128;

pub struct Lattice<'a> {
    data: &'a Dataset,
    greedy: greedy::Checked,
    pub required: Set,
    pub candidates: Set,
    known: RefCell<HashMap<Set, Rc<Tree>>>,
}

impl<'a> Lattice<'a> {
    pub fn new(data: &'a Dataset, params: &Params) -> Self {
        let required = set_of(&params.required);
        let all = set_of(&(0..data.columns().len()).collect::<Vec<_>>());
        let candidates = params.candidates.as_ref().map_or(all & !required, |candidates| set_of(candidates));
        let greedy = params.greedy.clone().checked().expect("good parameters");
        Lattice { data, greedy, required, candidates, known: RefCell::default() }
    }

    /// Whether any tree can be grown.
    pub fn is_sound(&self) -> bool {
        search(self.data, &self.greedy, &self.greedy.budget()).is_ok()
    }

    /// DT(S).
    pub fn tree(&self, set: Set) -> Rc<Tree> {
        let grow = || {
            let names: Vec<String> =
                columns(set).iter().map(|&column| self.data.schema().features[column].name.clone()).collect();
            let part = self.data.select(&names).expect("names of columns");
            Rc::new(search(&part, &self.greedy, &self.greedy.budget()).expect("a good table").tree)
        };
        self.known.borrow_mut().entry(set).or_insert_with(grow).clone()
    }

    /// The features that a tree uses, by position in the whole table.
    pub fn used(&self, tree: &Tree) -> Set {
        let features = &tree.schema().features;
        tree.features().iter().fold(0, |set, &feature| set | self.column(&features[feature as usize].name))
    }

    /// The column of a name, as a set.
    pub fn column(&self, name: &str) -> Set {
        1 << self.data.schema().feature_index(name).expect("a column of the table")
    }

    /// All subsets: the required features and any of the candidates, in the order of binary counting.
    pub fn subsets(&self) -> Vec<Set> {
        let candidates = columns(self.candidates);
        let of = |bits: usize| {
            let chosen = candidates.iter().enumerate().filter(|(place, _)| bits >> place & 1 == 1);
            self.required | chosen.fold(0, |set, (_, &column)| set | 1 << column)
        };
        (0..1 << candidates.len()).map(of).collect()
    }

    /// The distinct trees that use all required features.
    pub fn distinct(&self) -> HashSet<Rc<Tree>> {
        let trees = self.subsets().into_iter().map(|set| self.tree(set));
        trees.filter(|tree| self.required & !self.used(tree) == 0).collect()
    }
}

pub fn set_of(columns: &[usize]) -> Set {
    columns.iter().fold(0, |set, &column| set | 1 << column)
}

/// Ascending.
pub fn columns(set: Set) -> Vec<usize> {
    (0..Set::BITS as usize).filter(|&column| set >> column & 1 == 1).collect()
}
