//! Lists of tests in few bytes. There may be millions, most of them cuts of the same few columns.
//!
//! Runs of tests of one kind and one feature: a byte for the kind, the feature and the length, then what differs: eight
//! bytes for a threshold, four for a level, sets of levels with their length. Little endian.

use super::{Test, Threshold, validate};
use crate::data::Schema;
use crate::error::{Error, Result};

const FLOAT: u8 = 0;
const INTEGER: u8 = 1;
const LEVEL: u8 = 2;
const IS: u8 = 3;
const IN: u8 = 4;
const MISSING: u8 = 5;

/// The kind of a test, its feature, and the bytes of its constant; `None` for a test that no exact search uses.
fn parts(test: &Test) -> Option<(u8, u32, Vec<u8>)> {
    let levels = |levels: &[u32]| levels.iter().flat_map(|level| level.to_le_bytes()).collect::<Vec<u8>>();
    Some(match test {
        Test::AtMost { feature, threshold } => match threshold {
            Threshold::Float(t) => (FLOAT, *feature, t.to_le_bytes().to_vec()),
            Threshold::Integer(t) => (INTEGER, *feature, t.to_le_bytes().to_vec()),
            Threshold::Level(level) => (LEVEL, *feature, levels(&[*level])),
        },
        Test::Is { feature, level } => (IS, *feature, levels(&[*level])),
        Test::In { feature, levels: set } => {
            let mut bytes = levels(&[set.len() as u32]);
            bytes.extend(levels(set));
            (IN, *feature, bytes)
        }
        Test::Missing { feature } => (MISSING, *feature, Vec::new()),
        Test::EachLevel { .. } | Test::EachOf { .. } => return None,
    })
}

/// Packs tests of two branches; others are left out.
pub(crate) fn pack(tests: impl Iterator<Item = Test>) -> Vec<u8> {
    let mut packed: Vec<u8> = Vec::new();
    // The current run: its kind, its feature, the place of its length, and the length.
    let mut run: Option<(u8, u32, usize, u32)> = None;
    for (kind, feature, bytes) in tests.filter_map(|test| parts(&test)) {
        let (place, length) = match run {
            Some((same, of, place, length)) if same == kind && of == feature && length < u32::MAX => {
                (place, length + 1)
            }
            _ => {
                packed.push(kind);
                packed.extend(feature.to_le_bytes());
                packed.extend(0u32.to_le_bytes());
                (packed.len() - 4, 1)
            }
        };
        packed[place..place + 4].copy_from_slice(&length.to_le_bytes());
        packed.extend(bytes);
        run = Some((kind, feature, place, length));
    }
    packed
}

/// Calls `visit` with tests that were packed, each checked against the schema.
///
/// Errors: [`Error::BadTree`] where the bytes are damaged.
pub(crate) fn unpack(mut packed: &[u8], schema: &Schema, mut visit: impl FnMut(Test)) -> Result<()> {
    let damaged = || Error::BadTree { problem: "its list of tests is damaged".into() };
    fn take<const N: usize>(packed: &mut &[u8]) -> Option<[u8; N]> {
        let (first, rest) = packed.split_first_chunk::<N>()?;
        *packed = rest;
        Some(*first)
    }
    while !packed.is_empty() {
        let [kind] = take(&mut packed).ok_or_else(damaged)?;
        let feature = take(&mut packed).map(u32::from_le_bytes).ok_or_else(damaged)?;
        let length = take(&mut packed).map(u32::from_le_bytes).ok_or_else(damaged)?;
        if kind == MISSING && length != 1 {
            return Err(damaged());
        }
        for _ in 0..length {
            let level = |packed: &mut &[u8]| take(packed).map(u32::from_le_bytes);
            let at_most = |threshold: Option<Threshold>| Some(Test::AtMost { feature, threshold: threshold? });
            let test = match kind {
                FLOAT => at_most(take(&mut packed).map(|bytes| Threshold::Float(f64::from_le_bytes(bytes)))),
                INTEGER => at_most(take(&mut packed).map(|bytes| Threshold::Integer(i64::from_le_bytes(bytes)))),
                LEVEL => at_most(level(&mut packed).map(Threshold::Level)),
                IS => level(&mut packed).map(|level| Test::Is { feature, level }),
                IN => level(&mut packed).and_then(|n| {
                    let levels: Option<Vec<u32>> = (0..n).map(|_| level(&mut packed)).collect();
                    Some(Test::In { feature, levels: levels? })
                }),
                MISSING => Some(Test::Missing { feature }),
                _ => None,
            };
            let test = test.filter(|test| validate::is_test_of(schema, test)).ok_or_else(damaged)?;
            visit(test);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::fixtures;
    use super::*;

    #[test]
    fn tests_come_back_and_damage_is_found() {
        let float = |t| Test::AtMost { feature: 0, threshold: Threshold::Float(t) };
        let is = |level| Test::Is { feature: fixtures::COLOR, level };
        let set = |levels: &[u32]| Test::In { feature: fixtures::COLOR, levels: levels.to_vec() };
        let tests = vec![
            float(0.5),
            float(f64::INFINITY),
            Test::Missing { feature: 0 },
            is(0),
            is(2),
            set(&[0, 1]),
            set(&[2]),
            Test::Missing { feature: fixtures::COLOR },
        ];
        let schema = fixtures::schema();
        let packed = pack(tests.iter().cloned());
        let unpacked = |packed: &[u8]| {
            let mut tests = Vec::new();
            unpack(packed, &schema, |test| tests.push(test)).map(|()| tests)
        };
        assert_eq!(unpacked(&packed).unwrap(), tests);
        assert_eq!(pack((0..1000).map(|i| float(f64::from(i)))).len(), 9 + 8000);
        assert_eq!(unpacked(&[]).unwrap(), []);
        // Cut anywhere within a run, or of another kind, or about levels that there are not.
        let n_whole = (0..packed.len()).filter(|&end| unpacked(&packed[..end]).is_ok()).count();
        assert!(n_whole < 8, "{n_whole}");
        for place in 0..packed.len() {
            let mut damaged = packed.clone();
            damaged[place] ^= 0xff;
            let _ = unpacked(&damaged);
        }
        assert!(unpacked(&pack([is(99)].into_iter())).is_err());
        assert!(unpacked(&pack([Test::Is { feature: 0, level: 0 }].into_iter())).is_err());
        assert!(unpacked(&pack([float(f64::NAN)].into_iter())).is_err());
    }
}
