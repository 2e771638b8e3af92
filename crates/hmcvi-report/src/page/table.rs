//! Write tables that a screen reader can walk through.

use maud::{Markup, Render, html};

/// Letters of a row from which on a table does not fit on a telephone, and those of a first cell, which wraps.
const NARROW: usize = 38;
const FIRST: usize = 14;

/// A table: its caption, titles of its columns, and rows whose first cell names them. Where it is wider than the page it
/// scrolls in its box, and says so.
pub(super) fn table<C: Render>(caption: &str, titles: &[C], rows: &[Vec<C>]) -> Markup {
    html! {
        @if is_wide(titles, rows) { (hint("table")) }
        div class="scroll" tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead { tr { @for title in titles { th scope="col" { (title) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (i, cell) in row.iter().enumerate() {
                                @if i == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn is_wide<C: Render>(titles: &[C], rows: &[Vec<C>]) -> bool {
    let cells = |i: usize| rows.iter().filter_map(move |row| row.get(i));
    let widest =
        |i: usize| cells(i).map(letters).max().unwrap_or(0).min(if i == 0 { FIRST } else { NARROW }) + 3;
    (0..titles.len()).map(widest).sum::<usize>() > NARROW
}

/// Letters of a cell's first line: without tags, and without the small print below it.
fn letters<C: Render>(cell: &C) -> usize {
    let text = cell.render().into_string();
    let line = text.split("<small").next().unwrap_or_default();
    line.split('<').map(|part| part.rsplit('>').next().map_or(0, |text| text.chars().count())).sum()
}

/// A table that a reader opens.
pub(super) fn behind(caption: &str, titles: &[String], rows: &[Vec<String>]) -> Markup {
    html! { details { summary { "Numbers behind this figure" } (table(caption, titles, rows)) } }
}

/// A cell with small print below it.
pub(super) fn with_note(text: impl Render, note: &str) -> Markup {
    html! { (text) @if !note.is_empty() { small { (note) } } }
}

/// What is said on narrow pages of something that is wider.
pub(super) fn hint(what: &str) -> Markup {
    html! { p class="hint" aria-hidden="true" { "Scroll the " (what) " sideways to see all of it →" } }
}
