//! Held-out cases that no tree over some features can tell apart.
//!
//! Cases of equal values in all features of a set end in the same leaves of every tree over the set, or over a part of
//! it, with the same shares, and so get the same class. Where they are of several classes, some of them are errors: at
//! least what the best class for all of them costs. Over fewer features more cases are equal, and what is lost only
//! grows. Where features have few values this is a strong bound on all subsets that lack one feature.

use std::sync::Arc;

use super::features::Set;
use super::held_out::HeldOut;
use crate::bits::mix;
use crate::budget::{Stop, Ticker};

/// Groups of equal cases, by a hash of their values that follows features taken away and put back.
pub(super) struct Inseparable {
    held_out: Arc<HeldOut>,
    /// Per case: the sum of the marks of its values in the features at hand.
    hashes: Vec<u64>,
    /// Per case: the node where what is known of its way ends, or [`DECIDED`].
    nodes: Vec<u32>,
    n_nodes: u32,
    /// Open addressing: the number of the run that wrote the place, and the group there.
    places: Vec<(u32, u32)>,
    run: u32,
    /// Per group: its first case.
    first: Vec<u32>,
    /// Per group and class: masses, where classes are few.
    masses: Vec<u64>,
    /// Else per group the last of its classes, and per such class its mass and the one before.
    last: Vec<u32>,
    listed: Vec<(u32, u64, u32)>,
    room: Vec<u64>,
}

/// Masses of up to so many classes are kept side by side.
const FEW: usize = 8;
const NONE: u32 = u32::MAX;

/// The class of a case is known.
const DECIDED: u32 = 0;

impl Inseparable {
    pub fn new(held_out: Arc<HeldOut>) -> Self {
        let n = held_out.n_cases;
        let places = vec![(0, 0); (2 * n).next_power_of_two().max(2)];
        let (hashes, nodes) = (vec![0; n], vec![DECIDED; n]);
        let room = vec![0; held_out.n_classes()];
        Inseparable {
            held_out,
            hashes,
            nodes,
            n_nodes: 0,
            places,
            run: 0,
            first: Vec::new(),
            masses: Vec::new(),
            last: Vec::new(),
            listed: Vec::new(),
            room,
        }
    }

    pub fn n_cases(&self) -> usize {
        self.held_out.n_cases
    }

    /// About how many bytes one takes.
    pub fn bytes(held_out: &HeldOut) -> u64 {
        80 * held_out.n_cases as u64 + 8 * held_out.n_classes() as u64
    }

    /// Makes these the features at hand. Complexity: O(cases x features).
    pub fn set<S: Set>(&mut self, features: &S) {
        self.hashes.fill(0);
        features.list().into_iter().for_each(|feature| self.put_back(feature));
    }

    /// Puts a feature back. Complexity: O(cases).
    pub fn put_back(&mut self, feature: usize) {
        let codes = self.held_out.codes(feature);
        self.hashes.iter_mut().zip(codes).for_each(|(hash, &code)| *hash = hash.wrapping_add(mark(feature, code)));
    }

    /// Takes a feature away. Complexity: O(cases).
    pub fn take_away(&mut self, feature: usize) {
        let codes = self.held_out.codes(feature);
        self.hashes.iter_mut().zip(codes).for_each(|(hash, &code)| *hash = hash.wrapping_sub(mark(feature, code)));
    }

    /// Forgets what is known of the ways of cases: all are decided.
    pub fn decide_all(&mut self) {
        self.nodes.fill(DECIDED);
        self.n_nodes = DECIDED;
    }

    /// Nothing is known of the ways of these cases from here on, a node that all of them came to.
    pub fn leave_open(&mut self, cases: &[u32]) {
        self.n_nodes += 1;
        cases.iter().for_each(|&case| self.nodes[case as usize] = self.n_nodes);
    }

    /// The errors of every tree over these features, which are those at hand, on the cases that are not decided; about
    /// `enough` of them at most. Complexity: O(cases), and O(features) for every case that is like another.
    pub fn errors(&mut self, features: &[usize], enough: u64, ticker: &mut Ticker) -> Result<u64, Stop> {
        let cases = 0..self.held_out.n_cases as u32;
        self.errors_among(cases, true, features, enough, ticker)
    }

    /// As [`Inseparable::errors`], on cases that came to one node.
    pub fn errors_at_node(
        &mut self,
        cases: &[u32],
        features: &[usize],
        enough: u64,
        ticker: &mut Ticker,
    ) -> Result<u64, Stop> {
        self.errors_among(cases.iter().copied(), false, features, enough, ticker)
    }

    fn errors_among(
        &mut self,
        cases: impl Iterator<Item = u32>,
        by_node: bool,
        features: &[usize],
        enough: u64,
        ticker: &mut Ticker,
    ) -> Result<u64, Stop> {
        let n_classes = self.held_out.n_classes();
        let are_few = n_classes <= FEW;
        if self.run == u32::MAX {
            // Long proofs get there.
            self.places.fill((0, 0));
            self.run = 0;
        }
        self.run += 1;
        self.first.clear();
        self.masses.clear();
        self.last.clear();
        self.listed.clear();
        let last = self.places.len() - 1;
        let mut errors = 0;
        for case in cases {
            let node = if by_node { self.nodes[case as usize] } else { DECIDED };
            if by_node && node == DECIDED {
                continue;
            }
            let hash = self.hashes[case as usize];
            let mut place = ((hash >> 32) as usize ^ node as usize) & last;
            let group = loop {
                let (run, group) = self.places[place];
                if run != self.run {
                    self.places[place] = (self.run, self.first.len() as u32);
                    self.first.push(case);
                    if are_few {
                        self.masses.resize(self.masses.len() + n_classes, 0);
                    } else {
                        self.last.push(NONE);
                    }
                    break self.first.len() - 1;
                }
                // The values decide, not the hash.
                let first = self.first[group as usize];
                let may_be_equal =
                    self.hashes[first as usize] == hash && (!by_node || self.nodes[first as usize] == node);
                if may_be_equal && self.held_out.are_equal(first, case, features) {
                    break group as usize;
                }
                place = (place + 1) & last;
            };
            if are_few {
                ticker.tick(20)?;
                let masses = &mut self.masses[group * n_classes..(group + 1) * n_classes];
                let before = if self.first[group] == case { 0 } else { self.held_out.least_error(masses) };
                masses[self.held_out.class(case) as usize] += self.held_out.mass(case);
                errors += self.held_out.least_error(masses) - before;
            } else if self.first[group] == case {
                ticker.tick(20)?;
                self.list(group, case);
            } else {
                ticker.tick(20 + 4 * n_classes)?;
                let before = self.error_of(group);
                self.list(group, case);
                errors += self.error_of(group) - before;
            }
            if errors >= enough {
                break;
            }
        }
        Ok(errors)
    }

    /// Adds a case to the classes of a group.
    fn list(&mut self, group: usize, case: u32) {
        let (class, mass) = (self.held_out.class(case), self.held_out.mass(case));
        let mut place = self.last[group];
        while place != NONE {
            let (of, sum, before) = &mut self.listed[place as usize];
            if *of == class {
                *sum += mass;
                return;
            }
            place = *before;
        }
        self.listed.push((class, mass, self.last[group]));
        self.last[group] = self.listed.len() as u32 - 1;
    }

    /// The errors of a group.
    fn error_of(&mut self, group: usize) -> u64 {
        self.room.fill(0);
        let mut place = self.last[group];
        while place != NONE {
            let (class, mass, before) = self.listed[place as usize];
            self.room[class as usize] = mass;
            place = before;
        }
        self.held_out.least_error(&self.room)
    }
}

#[inline]
fn mark(feature: usize, code: u32) -> u64 {
    mix((feature as u64) << 32 | u64::from(code))
}
