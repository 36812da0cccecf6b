//! Where a split sends held-out cases.

use super::column::{HoldoutColumn, NARROW, UNSEEN};
use crate::data::ByteMatrix;
use crate::data::Value;
use crate::greedy::engine::{CodedTest, MISSING, TrainingColumn};
use crate::tree::Threshold;

/// Where a case goes at a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// Down a branch that building cases took.
    Branch(u32),
    /// Down a branch that no building case took, which predicts as the node would if it were a leaf.
    Empty,
    /// Down all branches, in shares.
    Spread,
}

/// Where a split sends the codes of its column.
#[derive(Debug)]
pub(crate) struct Routing {
    pub(super) column: u32,
    /// Whether values are ordered; levels without an order are looked up in the cut.
    is_ordered: bool,
    /// Where values are ordered: codes below the first take the first branch, codes from the second on the other, and
    /// codes between them are compared with the threshold.
    bounds: [u32; 2],
    threshold: Option<Threshold>,
    missing: Route,
    unseen: Route,
}

impl Routing {
    pub(super) fn new(
        values: &HoldoutColumn,
        coded: &TrainingColumn,
        (column, cut): (u32, &CodedTest),
        masses: &[f64],
        own_came: bool,
        fractional: bool,
    ) -> Self {
        let (bounds, threshold) = match cut {
            CodedTest::AtMost { below, above } => {
                let n_up_to = values.n_up_to(coded);
                let bounds = [n_up_to[*below as usize][1], n_up_to[*above as usize][0]];
                let is_asked = bounds[0] < bounds[1] || coded.imputed.is_some();
                (bounds, is_asked.then(|| coded.threshold(*below, *above)))
            }
            _ => ([0; 2], None),
        };
        let passes = |value: Value| threshold.is_some_and(|threshold| threshold.at_least(value) == Some(true));
        // As in the nodes of a tree: the first branch of greatest mass.
        let heaviest =
            (0..masses.len()).fold(0, |best, branch| if masses[branch] > masses[best] { branch } else { best });
        let heaviest = Route::Branch(heaviest as u32);
        let asks_missing = matches!(cut, CodedTest::Is(code) if Some(*code) == coded.own);
        let missing = match (cut, coded.own.filter(|_| own_came), coded.imputed) {
            _ if fractional => Route::Spread,
            _ if asks_missing => Route::Branch(0),
            (CodedTest::Each(_) | CodedTest::In(_), Some(own), _) => route_of_level(cut, own),
            (_, Some(_), _) => Route::Branch(1),
            (_, None, Some(Value::Level(level))) if !coded.ordered => route_of_level(cut, level),
            (_, None, Some(value)) => Route::Branch(u32::from(!passes(value))),
            (_, None, None) => heaviest,
        };
        let unseen = if asks_missing { Route::Branch(1) } else { heaviest };
        Routing { column, is_ordered: coded.ordered, bounds, threshold, missing, unseen }
    }
}

/// Routes held-out cases down one split.
#[derive(Clone, Copy)]
pub(crate) struct Router<'a> {
    pub(super) column: &'a HoldoutColumn,
    pub(super) narrow: &'a ByteMatrix,
    pub(super) routing: &'a Routing,
    pub(super) cut: &'a CodedTest,
}

impl Router<'_> {
    /// Where a case goes.
    #[inline(always)]
    pub fn route(&self, case: u32) -> Route {
        let Router { column, routing, .. } = self;
        let code = match column.narrow {
            Some(place) => match u32::from(self.narrow.line(case)[place]) {
                code if code >= NARROW => code | !0xff,
                code => code,
            },
            None => column.codes[case as usize],
        };
        match (code, self.cut) {
            (MISSING, _) => routing.missing,
            (UNSEEN, _) => routing.unseen,
            (_, CodedTest::AtMost { .. }) => {
                let [below, above] = routing.bounds;
                Route::Branch(match routing.threshold {
                    Some(threshold) if code >= below && code < above => {
                        u32::from(threshold.at_least(column.values[code as usize]) != Some(true))
                    }
                    _ => u32::from(code >= above),
                })
            }
            (_, cut) if routing.is_ordered => {
                debug_assert!(matches!(cut, CodedTest::Is(_)));
                Route::Branch(1)
            }
            (_, cut) => route_of_level(cut, code),
        }
    }
}

/// The branch of a level without an order.
#[inline]
fn route_of_level(cut: &CodedTest, code: u32) -> Route {
    match cut {
        CodedTest::Is(same) => Route::Branch(u32::from(code != *same)),
        CodedTest::In(codes) => Route::Branch(u32::from(codes.binary_search(&code).is_err())),
        // Mostly building cases have all levels, or all up to this one.
        CodedTest::Each(codes) if codes.get(code as usize) == Some(&code) => Route::Branch(code),
        CodedTest::Each(codes) => {
            codes.binary_search(&code).map_or(Route::Empty, |branch| Route::Branch(branch as u32))
        }
        CodedTest::AtMost { .. } => unreachable!("levels without an order have no threshold"),
    }
}
