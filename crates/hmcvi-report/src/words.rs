//! Write numbers and counts as they read well.

use hmcvi_record::{Difference, Estimate, RunInfo};

/// What a row of the data is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noun {
    /// It is an image.
    Image,
    /// It is anything else.
    Row,
}

/// Words about images beside those about other rows, which nothing makes binary.
const WORDS: [(&str, &str); 6] = [
    ("binarisation draw", "draw"),
    ("binary image", "row"),
    ("an image", "a row"),
    ("An image", "A row"),
    ("image", "row"),
    ("Image", "Row"),
];

impl Noun {
    /// Images, if all of these runs are known to be of them. Early records tell nothing: they are of images.
    pub fn of<'a>(runs: impl IntoIterator<Item = Option<&'a RunInfo>>) -> Noun {
        let is_row = |info: &RunInfo| info.columns.is_some() && info.image_shape.is_none();
        if runs.into_iter().flatten().any(is_row) { Noun::Row } else { Noun::Image }
    }

    /// A text about images as one about the rows that there are. Not for texts with names that users gave.
    pub(crate) fn say(self, text: &str) -> String {
        match self {
            Noun::Image => text.into(),
            Noun::Row => {
                WORDS.iter().fold(text.into(), |text: String, (image, row)| text.replace(image, row))
            }
        }
    }

    /// A number of them, such as `test` ones.
    pub(crate) fn counted(self, count: u64, which: &str) -> String {
        let noun = if self == Noun::Image { "image" } else { "row" };
        match which {
            "" => counted(count, noun),
            _ => counted(count, &format!("{which} {noun}")),
        }
    }
}

/// A number with so many decimals and a true minus sign.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    // Without a digit other than 0 there is no sign.
    match text.strip_prefix('-') {
        Some(digits) if digits.bytes().any(|b| matches!(b, b'1'..=b'9')) => format!("−{digits}"),
        Some(digits) => digits.into(),
        None => text,
    }
}

/// A number with about four digits that count.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if !value.is_finite() => "–".into(),
        0.0 => "0".into(),
        0.001..10.0 => fixed(value, (3 - size.log10().floor() as i32).max(0) as usize),
        10.0..100_000.0 => fixed(value, 2),
        _ => format!("{value:.2e}").replace('-', "−"),
    }
}

/// A count with commas between thousands.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let first = digits.len() % 3;
    let mut text = digits[..first].to_string();
    for group in digits.as_bytes()[first..].chunks(3) {
        if !text.is_empty() {
            text.push(',');
        }
        text.extend(group.iter().map(|d| char::from(*d)));
    }
    text
}

/// A count with its noun, which gets an `s` unless there is one of it.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A value with its standard error; published values have none.
pub(crate) fn with_error(mean: f64, error: f64, decimals: usize) -> String {
    match error {
        0.0 => fixed(mean, decimals),
        _ => format!("{} ± {}", fixed(mean, decimals), fixed(error, decimals)),
    }
}

/// `-log p(x)` with its error: records hold `log p(x)`.
pub(crate) fn negated(estimate: &Estimate) -> String {
    with_error(-estimate.mean, estimate.standard_error, 2)
}

/// A difference of `-log p(x)`, with its sign.
pub(crate) fn signed(difference: &Difference) -> String {
    let Estimate { mean, standard_error } = difference.estimate;
    let plus = if mean < 0.0 { "+" } else { "" };
    format!("{plus}{} ± {}", fixed(-mean, 2), fixed(standard_error, 2))
}

/// A length of time.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// Seconds since 1970 as a date and time in UTC.
pub(crate) fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days of eras of 400 years that begin on the first of March (Howard Hinnant's civil calendar).
    let z = days + 719_468;
    let (era, day) = (z / 146_097, z % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (month, day) = ((shifted + 2) % 12 + 1, of_year - (153 * shifted + 2) / 5 + 1);
    let year = year + 400 * era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", rest / 3600, rest / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_digits_that_count_and_a_true_minus() {
        assert_eq!([fixed(-1.234, 2), fixed(-0.001, 2), fixed(2.0, 1)], ["−1.23", "0.00", "2.0"]);
        assert_eq!(
            [number(0.01234), number(-123.456), number(3.45678), number(0.0)],
            ["0.01234", "−123.46", "3.457", "0"]
        );
        assert_eq!([number(1.5e-7), number(f64::NAN)], ["1.50e−7", "–"]);
    }

    #[test]
    fn counts_have_their_thousands_apart_and_the_right_noun() {
        let found = [0, 999, 1000, 50_000, 1_234_567].map(grouped);
        assert_eq!(found, ["0", "999", "1,000", "50,000", "1,234,567"]);
        assert_eq!([0, 1, 2].map(|n| counted(n, "HMC step")), ["0 HMC steps", "1 HMC step", "2 HMC steps"]);
    }

    #[test]
    fn rows_are_called_images_only_where_they_are() {
        let text = "Images: an image of the same binary images, 5 binarisation draws";
        assert_eq!(Noun::Image.say(text), text);
        assert_eq!(Noun::Row.say(text), "Rows: a row of the same rows, 5 draws");
        assert_eq!([Noun::Row.counted(1, "test"), Noun::Image.counted(2, "")], ["1 test row", "2 images"]);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        // As `date -u -d @N` says.
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_767_225_599), "2025-12-31 23:59 UTC");
    }
}
