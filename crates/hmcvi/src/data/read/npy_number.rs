//! Decode the numbers of `.npy` files: every width of integers and floating point, in both byte orders.

/// A type of numbers: letter and bytes of NumPy's code, and whether the lowest byte comes first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    /// `f`, `i`, `u` or `b`.
    pub(super) letter: u8,
    /// Bytes of one value.
    pub(super) size: usize,
    little: bool,
}

impl Number {
    pub(super) fn parse(descr: &str) -> Option<Number> {
        let (little, code) = match descr.strip_prefix('>') {
            Some(code) => (false, code),
            None => (true, descr.trim_start_matches(['<', '|', '='])),
        };
        let (letter, size) = match code {
            "f2" | "f4" | "f8" => (b'f', code),
            "i1" | "i2" | "i4" | "i8" => (b'i', code),
            "u1" | "u2" | "u4" | "u8" => (b'u', code),
            "b1" => (b'b', code),
            "?" => (b'b', "b1"),
            _ => return None,
        };
        Some(Number { letter, size: size[1..].parse().ok()?, little })
    }

    /// The value of `bytes`, rounded to what an `f64` can hold.
    pub(super) fn value(&self, bytes: &[u8]) -> f64 {
        let mut word = [0u8; 8];
        for (i, byte) in bytes.iter().enumerate() {
            word[if self.little { i } else { self.size - 1 - i }] = *byte;
        }
        let bits = u64::from_le_bytes(word);
        match (self.letter, self.size) {
            (b'f', 2) => half(bits as u16),
            (b'f', 4) => f64::from(f32::from_bits(bits as u32)),
            (b'f', _) => f64::from_bits(bits),
            (b'u' | b'b', _) => bits as f64,
            // Shifting up and down again repeats the sign.
            (_, size) => ((bits << (64 - 8 * size)) as i64 >> (64 - 8 * size)) as f64,
        }
    }
}

/// The value of a number in half precision.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}
