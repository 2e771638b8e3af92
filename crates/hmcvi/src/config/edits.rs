//! Count how many slips of the finger lie between two words.

/// The least number of letters that are left out, added, replaced or swapped with their neighbour to make `b` of `a`,
/// with no letter touched twice (the distance of Damerau and Levenshtein, as optimal string alignment).
pub(super) fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // For the first letters of `a`, one less and two less: how many edits make the first 0, 1, 2, … letters of `b`.
    let (mut last, mut before) = ((0..=b.len()).collect::<Vec<_>>(), Vec::new());
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replaced = last[j] + usize::from(a[i] != b[j]);
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        (before, last) = (last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::edits;

    #[test]
    fn slips_are_counted() {
        for (a, b, expected) in [
            ("", "", 0),
            ("", "mass", 4),
            ("mass", "mass", 0),
            ("mas", "mass", 1),
            ("maß", "mass", 2),
            ("masc", "mass", 1),
            ("amss", "mass", 1),
            ("epohcs", "epoch", 2),
            ("kitten", "sitting", 3),
            // Two swaps would touch a letter twice, so that it takes three edits.
            ("ca", "abc", 3),
        ] {
            assert_eq!([edits(a, b), edits(b, a)], [expected; 2], "{a} and {b}");
        }
    }
}
