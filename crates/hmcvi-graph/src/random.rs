//! Draw random numbers from counters: Philox 4x32-10, keyed by seed, stream, step, row and column.
//!
//! A draw depends on its key alone, not on tiles, threads or device, so a run that is resumed or
//! moved continues with the same numbers (Salmon, Moraes, Dror and Shaw, *Parallel random numbers:
//! as easy as 1, 2, 3*, 2011).

use crate::op::Draw;
use crate::real::Real;

/// Where in the space of random numbers a row of draws lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Seed of the whole run.
    pub seed: u64,
    /// Independent source within a step; see [`Graph::normal`](crate::Graph::normal).
    pub stream: u16,
    /// Step number, up to 2^48.
    pub step: u64,
    /// Row, counted over the data or the batch.
    pub row: u32,
}

const LANES: usize = 8;
/// Columns that are drawn together: four words for each lane.
const CHUNK: usize = 4 * LANES;

type Words = [[u32; LANES]; 4];

/// Four random words for every counter, by ten Philox rounds.
#[inline(always)]
fn philox_lanes(counter: Words, key: [u32; 2]) -> Words {
    let ([mut c0, mut c1, mut c2, mut c3], [mut k0, mut k1]) = (counter, key);
    for _ in 0..10 {
        for i in 0..LANES {
            let p0 = u64::from(c0[i]) * 0xD251_1F53;
            let p1 = u64::from(c2[i]) * 0xCD9E_8D57;
            c0[i] = (p1 >> 32) as u32 ^ c1[i] ^ k0;
            c2[i] = (p0 >> 32) as u32 ^ c3[i] ^ k1;
            c1[i] = p1 as u32;
            c3[i] = p0 as u32;
        }
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    [c0, c1, c2, c3]
}

/// The Philox 4x32-10 bijection: four random words for one counter and key.
pub fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    philox_lanes(counter.map(|c| [c; LANES]), key).map(|words| words[0])
}

/// Random words for the chunk of columns `CHUNK·chunk ..`. Column `c` gets word `(c / 8) % 4` of
/// the counter with number `8·(c / 32) + c % 8`, so that the words of eight counters that are
/// computed side by side land in neighbouring columns.
#[inline(always)]
fn chunk_words(key: Key, chunk: u32) -> Words {
    let mut numbers = [0; LANES];
    for (lane, number) in numbers.iter_mut().enumerate() {
        *number = chunk * LANES as u32 + lane as u32;
    }
    let high = (u32::from(key.stream) << 16) | ((key.step >> 32) as u32 & 0xFFFF);
    let counter = [numbers, [key.row; LANES], [key.step as u32; LANES], [high; LANES]];
    philox_lanes(counter, [key.seed as u32, (key.seed >> 32) as u32])
}

/// Fills a row with draws.
#[inline(always)]
pub(crate) fn fill<T: Real>(draw: Draw, key: Key, out: &mut [T]) {
    for (chunk, columns) in out.chunks_mut(CHUNK).enumerate() {
        let words = chunk_words(key, chunk as u32);
        let mut values = [T::default(); CHUNK];
        match draw {
            Draw::Uniform => {
                for w in 0..4 {
                    for i in 0..LANES {
                        values[w * LANES + i] = T::uniform(words[w][i]);
                    }
                }
            }
            // Box and Muller: two words give the two normal draws of a point in the plane.
            Draw::Normal => {
                for w in [0, 2] {
                    for i in 0..LANES {
                        let radius = (T::from_f64(-2.0) * T::open_uniform(words[w][i]).log()).sqrt();
                        let (cosine, sine) = T::uniform(words[w + 1][i]).cos_sin_turns();
                        values[w * LANES + i] = radius * cosine;
                        values[(w + 1) * LANES + i] = radius * sine;
                    }
                }
            }
        }
        columns.copy_from_slice(&values[..columns.len()]);
    }
}

/// A row of standard normal draws, as programs see it.
pub fn normal<T: Real>(key: Key, out: &mut [T]) {
    fill(Draw::Normal, key, out);
}

/// A row of uniform draws in `[0, 1)`, as programs see it.
pub fn uniform<T: Real>(key: Key, out: &mut [T]) {
    fill(Draw::Uniform, key, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers published with Random123 (file `kat_vectors`, philox4x32 10 rounds).
    #[test]
    fn philox_gives_the_published_vectors() {
        let ones = u32::MAX;
        let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        let cases = [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([ones; 4], [ones; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (pi, [0xa409_3822, 0x299f_31d0], [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]),
        ];
        for (counter, key, expected) in cases {
            assert_eq!(philox(counter, key), expected);
        }
    }

    #[test]
    fn a_column_is_the_documented_word_of_its_counter() {
        let key = Key { seed: 0x1234_5678_9abc_def0, stream: 7, step: (3 << 32) + 11, row: 5 };
        let mut row = vec![0f32; 100];
        uniform(key, &mut row);
        for (c, &value) in row.iter().enumerate() {
            let number = 8 * (c / 32) + c % 8;
            let words = philox([number as u32, 5, 11, (7 << 16) | 3], [0x9abc_def0, 0x1234_5678]);
            assert_eq!(value, (words[(c / 8) % 4] >> 8) as f32 / 16_777_216.0);
        }
    }
}
