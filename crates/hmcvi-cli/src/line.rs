//! Lay out a line of progress: shrink the bar and drop the least important parts until it fits the terminal.

/// How much a part of a line matters, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    Detail,
    Useful,
    Important,
    Vital,
}

/// A line of progress: how far things are, and parts in the order in which they are shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// Share that is done, for a bar in front.
    share: Option<f64>,
    parts: Vec<(Rank, String)>,
}

const WIDEST_BAR: usize = 24;
const NARROWEST_BAR: usize = 6;
const GAP: &str = "  ";

impl Line {
    /// A line with a bar that shows a share from 0 to 1.
    pub(crate) fn with_bar(share: f64) -> Self {
        Line { share: Some(share.clamp(0.0, 1.0)), ..Line::default() }
    }

    /// Adds a part at the end; nothing if it is empty.
    #[must_use]
    pub(crate) fn part(mut self, rank: Rank, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.parts.push((rank, text));
        }
        self
    }

    /// All parts.
    pub(crate) fn text(&self) -> String {
        self.parts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(GAP)
    }

    /// The bar and the text in at most so many columns.
    pub(crate) fn fitted(&self, columns: usize) -> (String, String) {
        let mut line = self.clone();
        let bar = |line: &Line| if line.share.is_some() { NARROWEST_BAR + GAP.len() } else { 0 };
        while bar(&line) + width(&line.text()) > columns && (line.parts.len() > 1 || line.share.is_some()) {
            line.drop_least();
        }
        let text: String = line.text().chars().take(columns).collect();
        let room = columns.saturating_sub(width(&text) + GAP.len()).min(WIDEST_BAR);
        match line.share {
            Some(share) if room >= NARROWEST_BAR => (drawn(share, room) + GAP, text),
            _ => (String::new(), text),
        }
    }

    /// Drops the last of the parts that matter least; the bar goes before those that are important.
    fn drop_least(&mut self) {
        let least = self.parts.iter().enumerate().rev().min_by_key(|(_, (rank, _))| *rank);
        match least {
            Some((place, (rank, _))) if *rank < Rank::Important || self.share.is_none() => {
                self.parts.remove(place);
            }
            _ => self.share = None,
        }
    }
}

/// Columns of a text; all of ours are letters and digits of one column each.
fn width(text: &str) -> usize {
    text.chars().count()
}

fn drawn(share: f64, room: usize) -> String {
    let inside = room - 2;
    let done = (share * inside as f64).round() as usize;
    format!("[{}{}]", "=".repeat(done), " ".repeat(inside - done))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Line {
        Line::with_bar(0.5)
            .part(Rank::Vital, "epoch 3/60")
            .part(Rank::Vital, "bound -131.76")
            .part(Rank::Detail, "(joint -140.1, entropy 8.4)")
            .part(Rank::Useful, "acceptance 0.913")
            .part(Rank::Useful, "1234 images/s")
            .part(Rank::Important, "left 1:23")
    }

    #[test]
    fn fits_every_width_and_drops_details_first() {
        let mut before = usize::MAX;
        for columns in (0..200).rev() {
            let (bar, text) = line().fitted(columns);
            assert!(width(&bar) + width(&text) <= columns, "{columns}: {bar}{text}");
            assert!(width(&text) <= before, "less room never shows more");
            before = width(&text);
        }
        let at = |columns| line().fitted(columns);
        assert_eq!(at(199).1, line().text());
        assert_eq!(at(79).1, "epoch 3/60  bound -131.76  acceptance 0.913  1234 images/s  left 1:23");
        assert_eq!(at(39), (String::new(), "epoch 3/60  bound -131.76  left 1:23".into()));
        assert_eq!(at(30).0, "");
        assert_eq!(at(12).1, "epoch 3/60");
        assert_eq!(at(5).1, "epoch");
    }

    #[test]
    fn the_bar_takes_what_is_left() {
        let bar = |columns| line().fitted(columns).0;
        assert_eq!(bar(199), "[===========           ]  ");
        assert_eq!(bar(79), "[===   ]  ");
    }
}
