//! Refuse arrays of other types than bytes: say which values they hold, and how to convert them where that is safe.

use super::array;
use super::error::DataError;
use super::npy_header::Header;
use super::npy_number::Number;
use super::stream::Stream;

/// How far intensities that were scaled to [0, 1] may lie outside; the proposed conversion clips them.
const ROUNDING: f64 = 1e-6;

/// A value in as few digits as it takes, which are fewer where it was a number of single precision.
fn show(value: f64) -> String {
    let single = value as f32;
    if value.fract() != 0.0 && f64::from(single) == value { single.to_string() } else { value.to_string() }
}

/// What there is in an array.
struct Found {
    count: u64,
    nan: u64,
    least: f64,
    largest: f64,
    /// Whether all are whole numbers.
    whole: bool,
}

impl Found {
    fn read(number: &Number, count: u64, stream: &mut Stream<'_>) -> Result<Found, DataError> {
        const BLOCK: u64 = 8 << 10;
        let mut found =
            Found { count, nan: 0, least: f64::INFINITY, largest: f64::NEG_INFINITY, whole: true };
        let mut left = count;
        while left > 0 {
            let values = left.min(BLOCK);
            let bytes = stream.block("the values", values * number.size as u64)?;
            bytes.chunks(number.size).for_each(|bytes| found.add(number.value(bytes)));
            left -= values;
        }
        Ok(found)
    }

    fn add(&mut self, value: f64) {
        if value.is_nan() {
            self.nan += 1;
        } else {
            (self.least, self.largest) = (self.least.min(value), self.largest.max(value));
            self.whole &= value.fract() == 0.0;
        }
    }

    fn is_within(&self, least: f64, largest: f64) -> bool {
        self.nan == 0 && self.least >= least && self.largest <= largest
    }

    fn describe(&self) -> String {
        let range = match self.nan == self.count {
            true => String::new(),
            false => format!(", from {} to {}", show(self.least), show(self.largest)),
        };
        let nan = if self.nan > 0 { format!(", {} of {} NaN", self.nan, self.count) } else { String::new() };
        range + &nan
    }

    /// The way to convert that loses nothing but the precision of a byte, or why there is none.
    fn next(&self) -> &'static str {
        if self.whole && self.is_within(0.0, 1.0) {
            "all are 0 or 1, so save them with numpy.save(file, x.astype(bool))"
        } else if self.is_within(-ROUNDING, 1.0 + ROUNDING) {
            "if they are intensities, save them with \
             numpy.save(file, numpy.round(255 * numpy.clip(x, 0, 1)).astype('uint8'))"
        } else if self.whole && self.is_within(0.0, 255.0) {
            "if they are intensities from 0 to 255, or labels, save them with numpy.save(file, x.astype('uint8')); \
             counts are not supported"
        } else {
            "only binary values and intensities, from 0 to 255 or from 0 to 1, are supported; negative and other real \
             values, counts and NaN are not, and a cast to uint8 would silently change them"
        }
    }
}

/// The error about an array that is neither of bytes nor of truth values.
pub(crate) fn refuse(header: &Header, stream: &mut Stream<'_>) -> DataError {
    let (found, next) = match Number::parse(&header.descr).zip(array::count(&header.shape)) {
        Some((number, count)) => match Found::read(&number, count, stream) {
            Ok(found) => {
                (format!("{} (`{}`){}", number.name(), header.descr, found.describe()), found.next())
            }
            Err(error) => return error,
        },
        None => (format!("`{}`", header.descr), "only these can be read"),
    };
    let file = stream.name().to_owned();
    DataError::Type { file, found, expected: "uint8 (`|u1`) or bool (`|b1`)", next: next.to_owned() }
}
