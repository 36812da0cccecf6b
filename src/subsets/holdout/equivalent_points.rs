//! The equivalent-points bound: errors on held-out cases that no tree over some features can tell apart.
//!
//! Cases with equal values in all features of a set reach the same leaves of every tree over the set, or over a part of
//! it, with the same shares, and so get the same class. Where they are of several classes, some of them are errors: at
//! least what the best single class for all of them costs. Over fewer features more cases are equal, so that this bound
//! can only grow. Where features have few values it is a strong bound on all subsets that lack one feature.

use super::HoldoutSet;
use crate::bits::mix;
use crate::budget::{Stop, Ticker};
use crate::subsets::feature_set::FeatureSet;

/// Groups held-out cases by their values in the *current* features: by a hash that is updated as features are removed
/// and put back, and then by the values themselves.
pub(crate) struct EquivalentPoints<'h> {
    holdout: &'h HoldoutSet,
    /// Per case: the sum of the hashes of its values in the current features.
    hashes: Vec<u64>,
    /// Per case: the open node that it comes to, or [`DECIDED`].
    nodes: Vec<u32>,
    n_nodes: u32,
    /// A hash table with open addressing.
    slots: Vec<HashSlot>,
    run: u32,
    /// Per group: its first case.
    first: Vec<u32>,
    /// Per group and class: the mass, where classes are few.
    masses: Vec<u64>,
    /// Where classes are many: per group the last entry of its list of classes.
    last: Vec<u32>,
    listed: Vec<ListedClass>,
    /// The class masses of one group, while its error is computed from its list.
    group_masses: Vec<u64>,
}

/// A slot of the hash table: the number of the run that wrote it, and a group of that run.
#[derive(Clone, Copy, Default)]
struct HashSlot {
    run: u32,
    group: u32,
}

/// A class of a group, linked to the previous one of the same group.
struct ListedClass {
    class: u32,
    mass: u64,
    previous: u32,
}

/// Up to so many classes, the masses of all classes are kept for each group.
const FEW_CLASSES: usize = 8;
/// The end of a list.
const NONE: u32 = u32::MAX;
/// The class that a tree gives to the case is known, and its error is counted elsewhere.
const DECIDED: u32 = 0;

impl<'h> EquivalentPoints<'h> {
    pub fn new(holdout: &'h HoldoutSet) -> Self {
        let n = holdout.n_cases;
        EquivalentPoints {
            holdout,
            hashes: vec![0; n],
            nodes: vec![DECIDED; n],
            n_nodes: 0,
            slots: vec![HashSlot::default(); (2 * n).next_power_of_two().max(2)],
            run: 0,
            first: Vec::new(),
            masses: Vec::new(),
            last: Vec::new(),
            listed: Vec::new(),
            group_masses: vec![0; holdout.n_classes()],
        }
    }

    pub fn n_cases(&self) -> usize {
        self.holdout.n_cases
    }

    /// The bytes that one of these takes, about.
    pub fn bytes(holdout: &HoldoutSet) -> u64 {
        80 * holdout.n_cases as u64 + 8 * holdout.n_classes() as u64
    }

    /// Makes these the current features. Complexity: O(cases x features).
    pub fn set_features<S: FeatureSet>(&mut self, features: &S) {
        self.hashes.fill(0);
        features.iter().for_each(|feature| self.put_back(feature));
    }

    /// Adds a feature to the current ones. Complexity: O(cases).
    pub fn put_back(&mut self, feature: usize) {
        let codes = self.holdout.codes(feature);
        let hashes = self.hashes.iter_mut().zip(codes);
        hashes.for_each(|(hash, &code)| *hash = hash.wrapping_add(hash_of(feature, code)));
    }

    /// Removes a feature from the current ones. Complexity: O(cases).
    pub fn remove(&mut self, feature: usize) {
        let codes = self.holdout.codes(feature);
        let hashes = self.hashes.iter_mut().zip(codes);
        hashes.for_each(|(hash, &code)| *hash = hash.wrapping_sub(hash_of(feature, code)));
    }

    /// Marks all cases as decided.
    pub fn decide_all(&mut self) {
        self.nodes.fill(DECIDED);
        self.n_nodes = DECIDED;
    }

    /// Marks cases as undecided from one node on, which all of them come to.
    pub fn leave_open(&mut self, cases: &[u32]) {
        self.n_nodes += 1;
        cases.iter().for_each(|&case| self.nodes[case as usize] = self.n_nodes);
    }

    /// The least errors of trees over these features, which are the current ones, on the cases that are not decided.
    /// Counting ends once there are `enough`. Complexity: O(cases), and O(features) for every case that equals another.
    pub fn errors(&mut self, features: &[usize], enough: u64, ticker: &mut Ticker) -> Result<u64, Stop> {
        self.errors_among::<true>(0..self.holdout.n_cases as u32, features, enough, ticker)
    }

    /// As [`EquivalentPoints::errors`], on cases that came to one node.
    pub fn errors_at_node(
        &mut self,
        cases: &[u32],
        features: &[usize],
        enough: u64,
        ticker: &mut Ticker,
    ) -> Result<u64, Stop> {
        self.errors_among::<false>(cases.iter().copied(), features, enough, ticker)
    }

    /// Adds up the errors of groups. `BY_NODE`: only cases at open nodes count, and those of a group share their node.
    fn errors_among<const BY_NODE: bool>(
        &mut self,
        cases: impl Iterator<Item = u32>,
        features: &[usize],
        enough: u64,
        ticker: &mut Ticker,
    ) -> Result<u64, Stop> {
        let n_classes = self.holdout.n_classes();
        let are_few = n_classes <= FEW_CLASSES;
        self.begin_run();
        let mut errors = 0;
        for case in cases {
            let node = if BY_NODE { self.nodes[case as usize] } else { DECIDED };
            if BY_NODE && node == DECIDED {
                continue;
            }
            let group = self.group_of::<BY_NODE>(case, node, features);
            let is_first = self.first[group] == case;
            ticker.tick(if are_few || is_first { 20 } else { 20 + 4 * n_classes })?;
            if are_few {
                let masses = &mut self.masses[group * n_classes..(group + 1) * n_classes];
                let before = if is_first { 0 } else { self.holdout.least_error(masses) };
                masses[self.holdout.class(case) as usize] += self.holdout.mass(case);
                errors += self.holdout.least_error(masses) - before;
            } else if is_first {
                self.list(group, case);
            } else {
                let before = self.error_of_list(group);
                self.list(group, case);
                errors += self.error_of_list(group) - before;
            }
            if errors >= enough {
                break;
            }
        }
        Ok(errors)
    }

    /// Empties the hash table, mostly by a new number of the run alone.
    fn begin_run(&mut self) {
        if self.run == u32::MAX {
            // Long proofs get there.
            self.slots.fill(HashSlot::default());
            self.run = 0;
        }
        self.run += 1;
        self.first.clear();
        self.masses.clear();
        self.last.clear();
        self.listed.clear();
    }

    /// The group of a case: that of an equal case before it, or a new one.
    #[inline(always)]
    fn group_of<const BY_NODE: bool>(&mut self, case: u32, node: u32, features: &[usize]) -> usize {
        let mask = self.slots.len() - 1;
        let hash = self.hashes[case as usize];
        let mut place = ((hash >> 32) as usize ^ node as usize) & mask;
        loop {
            let HashSlot { run, group } = self.slots[place];
            if run != self.run {
                self.slots[place] = HashSlot { run: self.run, group: self.first.len() as u32 };
                self.first.push(case);
                let n_classes = self.holdout.n_classes();
                if n_classes <= FEW_CLASSES {
                    self.masses.resize(self.masses.len() + n_classes, 0);
                } else {
                    self.last.push(NONE);
                }
                return self.first.len() - 1;
            }
            // The values decide, not the hash.
            let first = self.first[group as usize];
            let may_be_equal = self.hashes[first as usize] == hash && (!BY_NODE || self.nodes[first as usize] == node);
            if may_be_equal && self.holdout.are_equal(first, case, features) {
                return group as usize;
            }
            place = (place + 1) & mask;
        }
    }

    /// Adds a case to the list of classes of a group.
    fn list(&mut self, group: usize, case: u32) {
        let (class, mass) = (self.holdout.class(case), self.holdout.mass(case));
        let mut place = self.last[group];
        while place != NONE {
            let listed = &mut self.listed[place as usize];
            if listed.class == class {
                listed.mass += mass;
                return;
            }
            place = listed.previous;
        }
        self.listed.push(ListedClass { class, mass, previous: self.last[group] });
        self.last[group] = self.listed.len() as u32 - 1;
    }

    /// The error of a group, from its list of classes.
    fn error_of_list(&mut self, group: usize) -> u64 {
        self.group_masses.fill(0);
        let mut place = self.last[group];
        while place != NONE {
            let &ListedClass { class, mass, previous } = &self.listed[place as usize];
            self.group_masses[class as usize] = mass;
            place = previous;
        }
        self.holdout.least_error(&self.group_masses)
    }
}

/// The hash of a value of a feature.
#[inline]
fn hash_of(feature: usize, code: u32) -> u64 {
    mix((feature as u64) << 32 | u64::from(code))
}
