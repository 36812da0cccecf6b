//! The integers that pair counts, costs and bounds are kept in: the narrower, the more of them a vector register holds.

/// An unsigned integer that holds the mass of all cases. Its greatest value stands for "no tree".
pub(in crate::optimal) trait Lane: Copy + Ord + Default + Send + Sync + 'static {
    /// No tree.
    const MAX: Self;
    /// A mass that is known to fit.
    fn of(mass: u64) -> Self;
    /// The mass.
    fn get(self) -> u64;
    /// A count of cases, each of mass `1 << shift`.
    fn of_count(count: u32, shift: u32) -> Self;
    /// The sum, where it is known to fit.
    fn plus(self, other: Self) -> Self;
    /// The sum, or [`Lane::MAX`] where it does not fit.
    fn plus_capped(self, other: Self) -> Self;
    /// The difference, where it is known not to be negative.
    fn minus(self, other: Self) -> Self;
    /// The difference, or 0 where it would be negative.
    fn minus_floored(self, other: Self) -> Self;
}

macro_rules! lane {
    ($($int:ty),*) => {$(
        impl Lane for $int {
            const MAX: Self = <$int>::MAX;
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
            fn of_count(count: u32, shift: u32) -> Self {
                (count as $int).wrapping_shl(shift)
            }
            // Wrapping, because the padding of a row holds anything; sums of masses never wrap.
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn plus_capped(self, other: Self) -> Self {
                self.saturating_add(other)
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn minus_floored(self, other: Self) -> Self {
                self.saturating_sub(other)
            }
        }
    )*};
}
lane!(u16, u32, u64);
