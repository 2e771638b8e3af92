//! Split a text into what stands on the line and what stands below it.

/// Size of subscripts, as a share.
pub(super) const SMALL: f64 = 0.72;
/// How far they are below the line, in units of the text's size.
pub(super) const BELOW: f64 = 0.2;

/// Parts of a text and whether each is a subscript: after `_`, the letters and digits, or what stands in braces.
pub(super) fn runs(text: &str) -> Vec<(&str, bool)> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('_') {
        parts.push((&rest[..at], false));
        let after = &rest[at + 1..];
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let word = after.find(|c: char| !c.is_alphanumeric()).unwrap_or(after.len());
        let (below, left) = braced.unwrap_or_else(|| after.split_at(word));
        parts.push((below, true));
        rest = left;
    }
    parts.push((rest, false));
    parts.retain(|(part, _)| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscripts_are_words_or_what_stands_in_braces() {
        assert_eq!(runs("plain"), [("plain", false)]);
        assert_eq!(runs("z_1"), [("z", false), ("1", true)]);
        let found = runs("s*_{t−1} = (z_HD, v)");
        assert_eq!(found, [("s*", false), ("t−1", true), (" = (z", false), ("HD", true), (", v)", false)]);
    }
}
