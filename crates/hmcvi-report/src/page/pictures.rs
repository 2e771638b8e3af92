//! Show what models draw.

use hmcvi_record::Report;
use maud::{Markup, html};

use super::heading;
use super::table::hint;
use crate::Scene;

/// A picture of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Number of the run in the report.
    pub run: usize,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// What a reader hears who does not see it.
    pub alternative: String,
    /// The picture.
    pub drawing: Scene,
    /// Whether it takes the whole width.
    pub full: bool,
}

/// The pictures of all runs; empty if there are none.
pub(super) fn pictures(report: &Report, pictures: &[Picture]) -> Markup {
    let of = |run: usize| pictures.iter().filter(move |p| p.run == run);
    html! {
        @for (i, run) in report.runs.iter().enumerate().filter(|(i, _)| of(*i).next().is_some()) {
            (heading(report, run))
            div class="panels pictures" {
                @for picture in of(i) {
                    figure class=[picture.full.then_some("full")] {
                        h3 { (picture.title) }
                        figcaption { (picture.caption) }
                        @if picture.drawing.has_letters() {
                            (hint("figure"))
                            div class="scroll" tabindex="0" role="region" aria-label=(picture.title) {
                                (picture.drawing.on_page(&picture.alternative))
                            }
                        } @else {
                            (picture.drawing.on_page(&picture.alternative))
                        }
                    }
                }
            }
        }
    }
}
