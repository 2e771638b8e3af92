//! Show what models draw, with the pictures inside the page.

use std::fmt::Write;

use hmcvi_record::Report;

use super::html::escape;
use crate::scene::base64;

/// A picture of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    pub image: Image,
    /// Whether it takes the whole width.
    pub full: bool,
}

/// What a picture is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// Pixels that are to be seen as they are, as PNG.
    Pixels(Vec<u8>),
    /// A drawing, as SVG.
    Drawing(String),
}

impl Image {
    /// The kind of its bytes, and these.
    fn bytes(&self) -> (&'static str, &[u8]) {
        match self {
            Image::Pixels(png) => ("image/png", png),
            Image::Drawing(svg) => ("image/svg+xml", svg.as_bytes()),
        }
    }
}

/// The pictures of all runs; empty if there are none.
pub(super) fn pictures(report: &Report, pictures: &[Picture]) -> String {
    let mut out = String::new();
    for (i, run) in report.runs.iter().enumerate() {
        let own: Vec<&Picture> = pictures.iter().filter(|p| p.run == i).collect();
        if own.is_empty() {
            continue;
        }
        if report.runs.len() > 1 {
            let _ = writeln!(out, "<h3>{}</h3>", escape(&run.facts.name));
        }
        out.push_str("<div class=\"panels pictures\">\n");
        for picture in own {
            panel(&mut out, picture);
        }
        out.push_str("</div>\n");
    }
    out
}

fn panel(out: &mut String, picture: &Picture) {
    let (kind, bytes) = picture.image.bytes();
    let class = if matches!(picture.image, Image::Drawing(_)) { " class=\"smooth\"" } else { "" };
    let _ = write!(
        out,
        "<figure{}>\n<h3>{}</h3>\n<figcaption>{}</figcaption>\n<img{class} alt=\"{}\" \
         src=\"data:{kind};base64,{}\">\n</figure>\n",
        if picture.full { " class=\"full\"" } else { "" },
        escape(&picture.title),
        escape(&picture.caption),
        escape(&picture.alternative),
        base64(bytes)
    );
}
