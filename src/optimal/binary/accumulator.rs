//! The integers that pair counts, costs and bounds are kept in: the narrower, the more of them a vector register holds.

use crate::simd::{BLOCK, Instructions, MaskedTile, Tile, WORD, WeighedRows};

/// An unsigned integer that holds the mass of all cases. Differences of masses fit as signed ones: it holds twice that
/// mass, or twice that of each class where classes are subtracted. Its greatest value stands for "no tree".
pub(in crate::optimal) trait Accumulator: Copy + Ord + Default + Send + Sync + 'static {
    /// No tree.
    const MAX: Self;
    /// The greatest difference of masses.
    const MOST: Self;
    /// The least difference of masses.
    const LEAST: Self;
    /// A mass that is known to fit.
    fn of(mass: u64) -> Self;
    /// The mass.
    fn get(self) -> u64;
    /// A count of cases, each of this mass.
    fn of_count(count: u32, mass: Self) -> Self;
    /// Whether a mass may not fit into 32 bits.
    const WIDE: bool;
    /// A difference of masses that fits, given in 32 bits, signed.
    fn of_difference(difference: u32) -> Self;
    /// The sum, where it is known to fit.
    fn plus(self, other: Self) -> Self;
    /// The difference, where it is known not to be negative.
    fn minus(self, other: Self) -> Self;
    /// Read as a difference of masses, the greater of two.
    fn greater(self, other: Self) -> Self;
    /// Read as a difference of masses, the lesser of two.
    fn lesser(self, other: Self) -> Self;
    /// The greatest of each line of differences of masses.
    #[inline(always)]
    fn greatest_of_lines<P: Instructions>(tile: &Tile<Self>) -> [Self; BLOCK] {
        tile.map(|line| line.iter().fold(Self::LEAST, |greatest, &x| greatest.greater(x)))
    }
    /// The least of each line of differences of masses.
    #[inline(always)]
    fn least_of_lines<P: Instructions>(tile: &Tile<Self>) -> [Self; BLOCK] {
        tile.map(|line| line.iter().fold(Self::MOST, |least, &x| least.lesser(x)))
    }
    /// Counts a tile of differences of masses that fit into 32 bits.
    #[inline(always)]
    fn count_tile<P: Instructions>(of: &MaskedTile, tile: &mut Tile<Self>) {
        *tile = P::tile(of).map(|line| line.map(Self::of_difference));
    }
    /// Writes, for each bit of at most four words of rows, the masses of the rows that have it set, added up.
    fn weigh<P: Instructions, const WORDS: usize>(rows: &WeighedRows<Self>, sums: &mut [[Self; WORD]; WORDS]);
    /// Half of it.
    fn halved(self) -> Self;
    /// The difference, or 0 where it would be negative.
    fn minus_floored(self, other: Self) -> Self;
}

macro_rules! lane {
    ($($int:ty, $signed:ty, $weigh:ident, $of_count:expr, $of_difference:expr, {$($more:item)*});*) => {$(
        impl Accumulator for $int {
            const MAX: Self = <$int>::MAX;
            const WIDE: bool = size_of::<$int>() > 4;
            const MOST: Self = <$signed>::MAX as $int;
            const LEAST: Self = <$signed>::MIN as $int;
            #[inline(always)]
            fn of(mass: u64) -> Self {
                debug_assert!(mass <= <$int>::MAX.into());
                mass as $int
            }
            #[inline(always)]
            fn get(self) -> u64 {
                self.into()
            }
            #[inline(always)]
            fn of_count(count: u32, mass: Self) -> Self {
                $of_count(count, mass)
            }
            #[inline(always)]
            fn of_difference(difference: u32) -> Self {
                $of_difference(difference)
            }
            // Wrapping, because the padding of a row holds anything; sums of masses never wrap.
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                (self as $signed).max(other as $signed) as $int
            }
            #[inline(always)]
            fn lesser(self, other: Self) -> Self {
                (self as $signed).min(other as $signed) as $int
            }
            #[inline(always)]
            fn weigh<P: Instructions, const WORDS: usize>(rows: &WeighedRows<$int>, sums: &mut [[$int; WORD]; WORDS]) {
                P::$weigh(rows, sums);
            }
            $($more)*
            #[inline(always)]
            fn halved(self) -> Self {
                self >> 1
            }
            #[inline(always)]
            fn minus_floored(self, other: Self) -> Self {
                self.saturating_sub(other)
            }
        }
    )*};
}
lane!(
    // Capped, though it always fits: else the compiler sees that sums of low halves will do, and narrows every term
    // instead of the sum. Capping is part of the instruction that narrows.
    u16, i16, weigh_u16, |count: u32, mass: u16| count.wrapping_mul(mass.into()).min(u16::MAX.into()) as u16,
        |difference| difference as u16,
    {
        #[inline(always)]
        fn greatest_of_lines<P: Instructions>(tile: &Tile<u16>) -> [u16; BLOCK] {
            P::greatest_of_lines(tile)
        }
        #[inline(always)]
        fn least_of_lines<P: Instructions>(tile: &Tile<u16>) -> [u16; BLOCK] {
            P::least_of_lines(tile)
        }
        #[inline(always)]
        fn count_tile<P: Instructions>(of: &MaskedTile, tile: &mut Tile<u16>) {
            P::narrow_tile(of, tile);
        }
    };
    u32, i32, weigh_u32, |count: u32, mass: u32| count.wrapping_mul(mass), |difference| difference, {};
    u64, i64, weigh_u64, |count: u32, mass: u64| u64::from(count).wrapping_mul(mass),
        |difference: u32| i64::from(difference as i32) as u64, {}
);
