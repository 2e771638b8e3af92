//! Show what models draw, with the pictures inside the page.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmcvi_record::Report;

use super::html::escape;

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
    pub png: Vec<u8>,
    /// Whether it is a drawing, to be scaled smoothly, or made of pixels that are to be seen as they are.
    pub drawing: bool,
    /// Whether it takes the whole width.
    pub full: bool,
}

impl Picture {
    /// Width and height, from the header that every PNG begins with.
    fn size(&self) -> Option<(u32, u32)> {
        let number = |at: usize| Some(u32::from_be_bytes(self.png.get(at..at + 4)?.try_into().ok()?));
        Some((number(16)?, number(20)?))
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
            let _ = writeln!(out, "<h3>{}</h3>", escape(&run.name));
        }
        out.push_str("<div class=\"panels\">\n");
        for picture in own {
            panel(&mut out, picture);
        }
        out.push_str("</div>\n");
    }
    out
}

fn panel(out: &mut String, picture: &Picture) {
    let Some((width, height)) = picture.size() else { return };
    let _ = write!(
        out,
        "<figure{}>\n<h3>{}</h3>\n<figcaption>{}</figcaption>\n<img{} alt=\"{}\" width=\"{width}\" height=\"{height}\" \
         src=\"data:image/png;base64,{}\">\n</figure>\n",
        if picture.full { " class=\"full\"" } else { "" },
        escape(&picture.title),
        escape(&picture.caption),
        if picture.drawing { " class=\"smooth\"" } else { "" },
        escape(&picture.alternative),
        STANDARD.encode(&picture.png)
    );
}
