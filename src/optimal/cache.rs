//! What is known of sets of cases that were searched before.
//!
//! The search looks up a node before it branches and stores what it found. A cache may forget anything at any time:
//! that costs time, never exactness. To add one: implement [`Cache`] and list it in [`CacheKind::ALL`], which feeds the
//! tests.

use std::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use super::problem::Cases;
use crate::bits;
use crate::threads::lock;

/// What is known of the least cost of a set under some depth and nodes: its value, or a lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) cost: u64,
    pub(super) exact: bool,
}

/// A memory of solved nodes, shared by all workers.
pub(super) trait Cache: Send + Sync {
    /// What is known of these cases under this depth and number of nodes.
    fn get(&self, cases: &Cases, depth: u32, nodes: u64) -> Option<Known>;
    /// Remembers it, if there is room.
    fn put(&self, cases: &Cases, depth: u32, nodes: u64, known: Known);
    /// Bytes in use.
    fn bytes(&self) -> u64;
}

/// Which cache a search uses. Results do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheKind {
    /// None.
    Off,
    /// Keyed by the branch: the tests on the path, in any order (DL8.5).
    Branch,
    /// Keyed by the set of cases (MurTree's dataset cache): finds equal sets that different branches lead to.
    #[default]
    Cases,
    /// Like [`CacheKind::Cases`] with a hash that is always 0: for tests, since keys and not hashes decide.
    CollidingCases,
}

impl CacheKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [CacheKind::Off, CacheKind::Branch, CacheKind::Cases, CacheKind::CollidingCases];

    pub(super) fn build(self, n_rows: usize, bytes: u64) -> Box<dyn Cache> {
        match self {
            CacheKind::Off => Box::new(NoCache),
            CacheKind::Branch => {
                Box::new(Keyed::<FxBuildHasher>::new(bytes, Box::new(|cases| cases.path.as_slice().into())))
            }
            CacheKind::Cases => Box::new(Keyed::<FxBuildHasher>::new(bytes, case_key(n_rows))),
            CacheKind::CollidingCases => {
                Box::new(Keyed::<BuildHasherDefault<ZeroHasher>>::new(bytes, case_key(n_rows)))
            }
        }
    }
}

/// The set itself: as row numbers or as a bit per row, whichever is shorter.
fn case_key(n_rows: usize) -> Box<dyn Fn(&Cases) -> Key + Send + Sync> {
    Box::new(move |cases| {
        if cases.rows.len() < n_rows / 32 {
            return cases.rows.as_slice().into();
        }
        let mut set = vec![0u64; bits::words(n_rows)];
        cases.rows.iter().for_each(|&row| bits::set(&mut set, row as usize));
        set.into_iter().flat_map(|word| [word as u32, (word >> 32) as u32]).collect()
    })
}

type Key = Box<[u32]>;

struct NoCache;

impl Cache for NoCache {
    fn get(&self, _: &Cases, _: u32, _: u64) -> Option<Known> {
        None
    }
    fn put(&self, _: &Cases, _: u32, _: u64, _: Known) {}
    fn bytes(&self) -> u64 {
        0
    }
}

/// A sharded hash map that stops growing at its limit.
struct Keyed<S> {
    key: Box<dyn Fn(&Cases) -> Key + Send + Sync>,
    shards: Vec<Mutex<FxHashMap<u64, Bucket>>>,
    hasher: S,
    bytes: AtomicU64,
    limit: u64,
}

/// The entries of one hash: one, as a rule.
type Bucket = SmallVec<[CachedSet; 1]>;

struct CachedSet {
    key: Key,
    depth: u32,
    nodes: u64,
    known: Known,
}

const SHARDS: usize = 64;

impl<S: BuildHasher + Default + Send + Sync> Keyed<S> {
    fn new(limit: u64, key: Box<dyn Fn(&Cases) -> Key + Send + Sync>) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Keyed { key, shards, hasher: S::default(), bytes: AtomicU64::new(0), limit }
    }

    /// The shard of this hash. A poisoned one holds whole entries: a panic elsewhere cannot leave half of one.
    fn shard(&self, hash: u64) -> MutexGuard<'_, FxHashMap<u64, Bucket>> {
        lock(&self.shards[(hash >> 32) as usize % SHARDS])
    }

    /// Bytes of an entry with a key of this length: its place in a map that has just grown, so that less than half of
    /// it is in use, or in a bucket that has; its key, and what the allocator adds.
    fn bytes_of(length: usize) -> u64 {
        (size_of::<(u64, Bucket)>() * 5 / 2 + 4 * length + 16) as u64
    }
}

impl<S: BuildHasher + Default + Send + Sync> Cache for Keyed<S> {
    fn get(&self, cases: &Cases, depth: u32, nodes: u64) -> Option<Known> {
        let key = (self.key)(cases);
        let hash = self.hasher.hash_one((&key, depth, nodes));
        let shard = self.shard(hash);
        let bucket = shard.get(&hash)?;
        bucket.iter().find(|e| e.depth == depth && e.nodes == nodes && e.key == key).map(|e| e.known)
    }

    fn put(&self, cases: &Cases, depth: u32, nodes: u64, known: Known) {
        let key = (self.key)(cases);
        let hash = self.hasher.hash_one((&key, depth, nodes));
        let mut shard = self.shard(hash);
        let known_entry = shard
            .get_mut(&hash)
            .and_then(|bucket| bucket.iter_mut().find(|e| e.depth == depth && e.nodes == nodes && e.key == key));
        match known_entry {
            Some(entry) if known.exact || (!entry.known.exact && known.cost > entry.known.cost) => entry.known = known,
            Some(_) => {}
            None => {
                let bytes = Self::bytes_of(key.len());
                if self.bytes.fetch_add(bytes, Relaxed) + bytes <= self.limit {
                    shard.entry(hash).or_default().push(CachedSet { key, depth, nodes, known });
                } else {
                    self.bytes.fetch_sub(bytes, Relaxed);
                }
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }
}

#[derive(Default)]
struct ZeroHasher;

impl Hasher for ZeroHasher {
    fn finish(&self) -> u64 {
        0
    }
    fn write(&mut self, _: &[u8]) {}
}
