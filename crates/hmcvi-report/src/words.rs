//! Put counts into words.

/// A count with its noun, which ends in `s` unless there is one.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_has_no_plural() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "HMC step")), ["0 HMC steps", "1 HMC step", "2 HMC steps"]);
    }
}
