//! Convert numbers to and from half precision (binary16 of IEEE 754).

/// Bits of the fraction.
const FRACTION: i32 = 10;
/// Exponents of the least and the largest normal numbers, `2⁻¹⁴` and `2¹⁵`.
const EXPONENTS: [i32; 2] = [-14, 15];
const INFINITY: u16 = 0x7c00;
const NAN: u16 = 0x7e00;
const SIGN: u16 = 0x8000;

/// The bits of the half that is nearest to `x`, with ties to even.
pub(crate) fn from_f64(x: f64) -> u16 {
    let [least, largest] = EXPONENTS;
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let magnitude = if x.is_nan() {
        NAN
    } else if exponent > largest {
        INFINITY
    } else {
        // Numbers below the normal ones are as far apart as the least of those.
        let exponent = exponent.max(least);
        let steps = (x.abs() * power_of_two(FRACTION - exponent)).round_ties_even() as u16;
        // The steps of a normal number have one bit beyond the fraction, which adds one to the exponent. Steps that were
        // rounded up to the next power of two, or to infinity, add one more.
        (((exponent - least) as u16) << FRACTION) + steps
    };
    if x.is_sign_negative() { magnitude | SIGN } else { magnitude }
}

/// The number that these bits stand for.
pub(crate) fn to_f64(bits: u16) -> f64 {
    let fraction = f64::from(bits & 0x3ff);
    let magnitude = match i32::from((bits & INFINITY) >> FRACTION) {
        0 => fraction * power_of_two(EXPONENTS[0] - FRACTION),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1024.0 + fraction) * power_of_two(EXPONENTS[0] - 1 + exponent - FRACTION),
    };
    if bits & SIGN == 0 { magnitude } else { -magnitude }
}

/// `2ⁿ`, exactly, for exponents of normal numbers.
fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::{from_f64, to_f64};

    #[test]
    fn every_half_is_read_and_written_back() {
        for bits in 0..=u16::MAX {
            let known = ::half::f16::from_bits(bits).to_f64();
            let found = to_f64(bits);
            assert_eq!(found.is_nan(), known.is_nan(), "{bits:#06x}");
            if !known.is_nan() {
                assert_eq!(found.to_bits(), known.to_bits(), "{bits:#06x}");
                assert_eq!(from_f64(found), bits, "{bits:#06x}");
            }
        }
    }

    #[test]
    fn numbers_between_two_halves_go_to_the_nearest_and_ties_to_even() {
        // Positive halves are ordered like their bits; the one after the largest would be 2¹⁶, which is infinity.
        for bits in 0..super::INFINITY {
            let low = to_f64(bits);
            let high = if bits + 1 == super::INFINITY { 65536.0 } else { to_f64(bits + 1) };
            let middle = 0.5 * (low + high);
            let even = bits + (bits & 1);
            for (x, expected) in [(middle.next_down(), bits), (middle, even), (middle.next_up(), bits + 1)] {
                assert_eq!(from_f64(x), expected, "{x:e}");
                assert_eq!(from_f64(-x), expected | super::SIGN, "-{x:e}");
            }
        }
    }

    #[test]
    fn numbers_out_of_range_become_zero_infinity_or_nan() {
        for (x, expected) in [
            (5e-324, 0),
            (-1e-300, super::SIGN),
            (1e300, super::INFINITY),
            (f64::NEG_INFINITY, super::SIGN | super::INFINITY),
            (f64::NAN, super::NAN),
        ] {
            assert_eq!(from_f64(x), expected, "{x:e}");
        }
    }
}
