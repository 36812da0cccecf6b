//! Parts of the search at the root of a table, to be measured on their own.

use super::super::params::Counting;
use super::super::problem::{Mass, Problem};
use super::accumulator::Accumulator;
use super::instances::Instances;
use super::stumps::BestStumps;
use super::workspace::BinaryEngine;
use super::{BinarySwitches, CacheRoom, aligned::Aligned};
use crate::budget::{Budget, Stop, Ticker};

/// Callback of a bench: given the name of a part and the part itself, which it runs as often as it needs.
pub type Measure<'a> = &'a mut dyn FnMut(&'static str, &mut dyn FnMut() -> Result<(), Stop>);

/// Readies the root, and has each part measured.
pub(in crate::optimal) fn measure<M: Mass, L: Accumulator>(
    problem: &Problem<M>,
    budget: &Budget,
    switches: BinarySwitches,
    measure: Measure,
) -> Result<(), Stop> {
    let (ticker, charged) = (&mut Ticker::new(budget), &mut budget.reserve(0)?);
    let instances = Instances::new(problem, size_of::<L>(), Counting::default(), ticker, charged)?;
    let room = CacheRoom { cache: budget.available() / 4, bounds: budget.available() / 4 };
    let search = BinaryEngine::<M, L>::new(problem, instances, budget, switches, 1, 3, room)?;
    let mut at = search.nodes.take();
    let ids = search.instances.of_rows(&problem.root().rows);
    search.root_node(&ids, &mut at.node)?;
    measure("node", &mut || search.root_node(&ids, &mut at.node));
    measure("depth_two/stored", &mut || search.shallow(&mut at).map(drop));
    let (node, stumps) = (&at.node, &mut at.stumps);
    let shape = search.shape(node);
    let mut pairs = Aligned::default();
    pairs.grow(shape.room(true));
    // Counted, as the pairs of the smaller branch are; and what those leave of the node's, as for the larger one.
    for (name, is_rest) in [("depth_two/counted", false), ("depth_two/rest", true)] {
        let whole = node.counts.matrix(search.isa, (shape, node.bits()), &mut Ticker::new(budget))?.for_stumps(shape);
        let mut part = || {
            let kernel = BestStumps {
                shape,
                count: (!is_rest).then(|| node.counts.counted_for_stumps((shape, node.bits()), None)),
                pairs: &mut pairs,
                keeps: true,
                whole: is_rest.then_some(whole),
                singles: &node.counts.singles,
                live: &node.live,
                enough: None,
                stumps,
                ticker: &mut Ticker::new(budget),
            };
            search.isa.run(kernel).map(drop)
        };
        measure(name, &mut part);
    }
    Ok(())
}
