//! Whole numbers without a limit, for the few ratios that a search begins with: what is compared again and again is made of
//! them once, in numbers of fixed size.

use std::cmp::Ordering;

/// A whole number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wide(
    /// The lowest first; the last is not 0.
    Vec<u64>,
);

impl Wide {
    pub fn new(x: u64) -> Self {
        Wide(vec![x]).trimmed()
    }

    fn trimmed(mut self) -> Self {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }

    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// How many binary digits it has.
    fn bits(&self) -> usize {
        self.0.last().map_or(0, |last| 64 * self.0.len() - last.leading_zeros() as usize)
    }

    pub fn times(mut self, factor: u64) -> Self {
        let mut carry = 0;
        for word in &mut self.0 {
            let product = u128::from(*word) * u128::from(factor) + carry;
            (*word, carry) = (product as u64, product >> 64);
        }
        self.0.push(carry as u64);
        self.trimmed()
    }

    /// Times a power of ten.
    pub fn shifted_by_ten(self, places: u32) -> Self {
        (0..places).fold(self, |wide, _| wide.times(10))
    }

    /// Times a power of two.
    pub fn shifted(&self, places: usize) -> Self {
        let (words, bits) = (places / 64, places % 64);
        let mut shifted = vec![0; words];
        shifted.extend_from_slice(&self.0);
        Wide(shifted).times(1 << bits)
    }

    /// Half of it, rounded down.
    fn halve(&mut self) {
        let mut carry = 0;
        for word in self.0.iter_mut().rev() {
            (*word, carry) = (*word >> 1 | carry << 63, *word & 1);
        }
        if self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    pub fn plus(&self, other: &Self) -> Self {
        let mut carry = false;
        let word = |wide: &Self, place: usize| wide.0.get(place).copied().unwrap_or(0);
        let mut sum: Vec<u64> = (0..self.0.len().max(other.0.len()))
            .map(|place| {
                let (a, over) = word(self, place).overflowing_add(word(other, place));
                let (sum, again) = a.overflowing_add(carry.into());
                carry = over || again;
                sum
            })
            .collect();
        sum.push(carry.into());
        Wide(sum).trimmed()
    }

    /// What is left when a number that is not greater is taken away.
    pub fn minus(&self, other: &Self) -> Self {
        let mut borrow = false;
        let rest = self.0.iter().enumerate().map(|(place, &word)| {
            let (a, under) = word.overflowing_sub(other.0.get(place).copied().unwrap_or(0));
            let (rest, again) = a.overflowing_sub(borrow.into());
            borrow = under || again;
            rest
        });
        let rest = Wide(rest.collect()).trimmed();
        debug_assert!(!borrow);
        rest
    }

    /// How often another number, not 0, is in it, and what is left; `None` from 2^100 times on.
    pub fn over(&self, divisor: &Self) -> Option<(u128, Self)> {
        let Some(places) = self.bits().checked_sub(divisor.bits()) else { return Some((0, self.clone())) };
        if places >= 100 {
            return None;
        }
        let (mut quotient, mut rest, mut part) = (0, self.clone(), divisor.shifted(places));
        for place in (0..=places).rev() {
            if rest >= part {
                rest = rest.minus(&part);
                quotient |= 1 << place;
            }
            part.halve();
        }
        Some((quotient, rest))
    }
}

impl Ord for Wide {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

impl PartialOrd for Wide {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;
    use proptest::prelude::*;

    use super::*;

    fn wide(words: &[u64]) -> (Wide, BigUint) {
        let big = words.iter().rev().fold(BigUint::ZERO, |big, &word| (big << 64) + word);
        (Wide(words.to_vec()).trimmed(), big)
    }

    fn same(wide: &Wide, big: &BigUint) -> bool {
        wide.0 == big.to_u64_digits()
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_another_library(
            a in prop::collection::vec(any::<u64>(), 0..5),
            b in prop::collection::vec(any::<u64>(), 0..5),
            factor in any::<u64>(),
            places in 0usize..200,
        ) {
            let ((a, big_a), (b, big_b)) = (wide(&a), wide(&b));
            prop_assert!(same(&a.plus(&b), &(&big_a + &big_b)));
            prop_assert!(same(&a.clone().times(factor), &(&big_a * factor)));
            prop_assert!(same(&a.shifted(places), &(&big_a << places)));
            prop_assert_eq!(a.cmp(&b), big_a.cmp(&big_b));
            let (less, big_less, more, big_more) =
                if a < b { (&a, &big_a, &b, &big_b) } else { (&b, &big_b, &a, &big_a) };
            prop_assert!(same(&more.minus(less), &(big_more - big_less)));
            if !less.is_zero() {
                match more.over(less) {
                    Some((quotient, rest)) => {
                        prop_assert_eq!(BigUint::from(quotient), big_more / big_less);
                        prop_assert!(same(&rest, &(big_more % big_less)));
                    }
                    None => prop_assert!(big_more / big_less >= BigUint::from(1u8) << 99),
                }
            }
        }
    }
}
