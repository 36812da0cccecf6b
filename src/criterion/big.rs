//! Whole numbers of any size, for comparisons that nothing smaller can decide: few, so that they may take their time.

use std::cmp::Ordering;

use smallvec::SmallVec;

/// A number as digits of 64 bits, the lowest first, none of them zero at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Big(SmallVec<[u64; 8]>);

impl From<u128> for Big {
    fn from(x: u128) -> Self {
        Big([x as u64, (x >> 64) as u64].into_iter().collect()).trimmed()
    }
}

impl Big {
    fn trimmed(mut self) -> Self {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }

    pub fn plus(&self, other: &Self) -> Self {
        let (long, short) = if self.0.len() >= other.0.len() { (self, other) } else { (other, self) };
        let mut sum = long.clone();
        let mut carry = 0;
        for (i, digit) in sum.0.iter_mut().enumerate() {
            let with = u128::from(*digit) + u128::from(short.0.get(i).copied().unwrap_or(0)) + carry;
            (*digit, carry) = (with as u64, with >> 64);
        }
        sum.0.push(carry as u64);
        sum.trimmed()
    }

    /// This less one that is not greater.
    pub fn minus(&self, other: &Self) -> Self {
        let mut difference = self.clone();
        let mut borrow = false;
        for (i, digit) in difference.0.iter_mut().enumerate() {
            let (first, a) = digit.overflowing_sub(other.0.get(i).copied().unwrap_or(0));
            let (second, b) = first.overflowing_sub(u64::from(borrow));
            (*digit, borrow) = (second, a | b);
        }
        difference.trimmed()
    }

    pub fn times(&self, other: &Self) -> Self {
        let mut product: SmallVec<[u64; 8]> = SmallVec::from_elem(0, self.0.len() + other.0.len() + 1);
        for (i, &a) in self.0.iter().enumerate() {
            let mut carry = 0;
            for (j, &b) in other.0.iter().chain([&0]).enumerate() {
                let sum = u128::from(a) * u128::from(b) + u128::from(product[i + j]) + carry;
                (product[i + j], carry) = (sum as u64, sum >> 64);
            }
        }
        Big(product).trimmed()
    }

    /// The binary digits that it has.
    pub fn bits(&self) -> u32 {
        self.0.last().map_or(0, |last| 64 * self.0.len() as u32 - last.leading_zeros())
    }
}

impl Ord for Big {
    fn cmp(&self, other: &Self) -> Ordering {
        let digits = || self.0.iter().rev().cmp(other.0.iter().rev());
        self.0.len().cmp(&other.0.len()).then_with(digits)
    }
}

impl PartialOrd for Big {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A difference of two quotients of whole numbers, the denominators positive.
#[derive(Debug, Clone)]
pub(super) struct Difference {
    plus: (Big, Big),
    minus: (Big, Big),
}

impl Difference {
    /// The sum of some quotients less one, or the other way round.
    pub fn new(sum: impl Iterator<Item = (Big, Big)>, other: (Big, Big), is_other_first: bool) -> Self {
        let add = |(a, b): (Big, Big), (c, d): (Big, Big)| (a.times(&d).plus(&c.times(&b)), b.times(&d));
        let sum = sum.fold((Big::default(), Big::from(1)), add);
        let (plus, minus) = if is_other_first { (other, sum) } else { (sum, other) };
        Difference { plus, minus }
    }

    /// Whether it is above 0, 0, or below; how far, and over what.
    fn signed(&self) -> (Ordering, Big, Big) {
        let (plus, minus) = (self.plus.0.times(&self.minus.1), self.minus.0.times(&self.plus.1));
        let sign = plus.cmp(&minus);
        let size = if sign.is_lt() { minus.minus(&plus) } else { plus.minus(&minus) };
        (sign, size, self.plus.1.times(&self.minus.1))
    }

    pub fn sign(&self) -> Ordering {
        self.plus.0.times(&self.minus.1).cmp(&self.minus.0.times(&self.plus.1))
    }

    pub fn compare(&self, other: &Self) -> Ordering {
        let ((sign, a, b), (other_sign, c, d)) = (self.signed(), other.signed());
        sign.cmp(&other_sign).then_with(|| {
            let sizes = a.times(&d).cmp(&c.times(&b));
            if sign.is_lt() { sizes.reverse() } else { sizes }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn big(x: u64) -> Big {
        Big::from(u128::from(x))
    }

    proptest! {
        #[test]
        fn arithmetic(a in any::<u64>(), b in any::<u64>(), c in any::<u64>()) {
            let (x, y, z) = (u128::from(a), u128::from(b), u128::from(c));
            prop_assert_eq!(big(a).times(&big(b)), Big::from(x * y));
            prop_assert_eq!(big(a).plus(&big(b)), Big::from(x + y));
            prop_assert_eq!(Big::from(x + y).minus(&big(b)), big(a));
            prop_assert_eq!(big(a).cmp(&big(b)), a.cmp(&b));
            prop_assert_eq!(Big::from(x * y).bits(), 128 - (x * y).leading_zeros());
            // (a + b) c^3 = a c^3 + b c^3, less one of them, over four digits.
            let cube = Big::from(z * z).times(&big(c));
            let (ac, bc) = (big(a).times(&cube), big(b).times(&cube));
            prop_assert_eq!(&big(a).plus(&big(b)).times(&cube), &ac.plus(&bc));
            prop_assert_eq!(ac.plus(&bc).minus(&bc), ac);
        }

        #[test]
        fn differences(a in 0u64..1000, b in 1u64..1000, c in 0u64..1000, d in 1u64..1000, k in 1u64..) {
            let quotient = |x: u64, y: u64| (big(x).times(&big(k)), big(y).times(&big(k)));
            let difference = |a, b, c, d| Difference::new([quotient(a, b)].into_iter(), quotient(c, d), false);
            let float = a as f64 / b as f64 - c as f64 / d as f64;
            let this = difference(a, b, c, d);
            prop_assert_eq!(this.sign(), (a * d).cmp(&(c * b)));
            prop_assert_eq!(this.compare(&difference(c, d, a, b)), float.total_cmp(&(0.0 - float)).then(Ordering::Equal));
            prop_assert_eq!(this.compare(&this), Ordering::Equal);
            prop_assert_eq!(this.compare(&difference(a + b, b, c, d)), Ordering::Less);
        }
    }
}
