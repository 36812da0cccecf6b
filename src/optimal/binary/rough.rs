//! Rough masses: bounds on trees of depth two in narrow lanes, where masses have many digits.
//!
//! Let an instance of mass m have the rough mass floor(m / unit). What a leaf loses is the sum of all classes but the
//! heaviest, which is the least of such sums over the classes; so a tree loses no less, in mass, than `unit` times what
//! it loses in rough masses. The unit of a node is the least under which all its rough masses together, or those of
//! each of two classes, fit into 15 bits: with some hundred cases the bound is within a hundredth of the exact cost, and
//! takes a quarter of the time. What it does not rule out is counted exactly: a few `candidates`, or else all pairs of the
//! branch, and those of the node when they are first needed.

use super::accumulator::Accumulator;
use super::counts::{NodeBits, NodeCounts};
use super::instances::Instances;
use super::pair_shape::PairShape;
use crate::budget::{Stop, Ticker};
use crate::simd::Isa;

/// The rough masses of a node are less than this together or, where trees are found from differences between two
/// classes, those of each class: signed sums and differences fit into a lane then.
const MOST: u64 = 1 << 15;

/// The rough masses of a node, and what is counted of them.
#[derive(Debug, Default)]
pub(super) struct RoughCounts {
    /// What a rough mass of one stands for.
    unit: u64,
    pub(super) counts: NodeCounts<u16>,
}

impl RoughCounts {
    /// Whether rough masses say as much in less time: where instances of many digits are weighed.
    pub(super) fn pay<L: Accumulator>(instances: &Instances) -> bool {
        instances.is_rough && !instances.masses.is_empty() && size_of::<L>() > size_of::<u16>()
    }

    /// Makes them from the instances of a node, whose masses add up to no more than `most`, by class if they are compared
    /// by class, and counts all pairs.
    pub(super) fn count(
        &mut self,
        isa: Isa,
        instances: &Instances,
        ids: &[u32],
        most: u64,
        (shape, bits): (PairShape, NodeBits),
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        let unit = most / (MOST - 1) + 1;
        let NodeCounts { masses, totals, .. } = &mut self.counts;
        masses.clear();
        masses.extend(ids.iter().map(|&id| (instances.masses[id as usize] / unit) as u16));
        totals.clear();
        totals.resize(shape.channels, 0);
        for (group, bounds) in shape.groups.iter().zip(bits.starts.windows(2)) {
            totals[group.channel] += masses[bounds[0]..bounds[1]].iter().sum::<u16>();
        }
        self.unit = unit;
        self.counts.count(isa, (shape, bits));
        self.counts.matrix(isa, (shape, bits), ticker).map(drop)
    }

    /// The bound on masses that one on rough masses is.
    pub(super) fn bound(&self, rough: u64) -> u64 {
        rough * self.unit
    }

    /// What rough masses may be at most where that says no more than a bound.
    pub(super) fn below(&self, bound: u64) -> u64 {
        bound / self.unit
    }
}
