//! Write tables that a screen reader can walk through.

use std::fmt::Write;

use super::html::escape;

/// A table: its caption, titles of its columns, and rows whose first cell names them. Cells are HTML.
pub(super) fn table(caption: &str, titles: &[String], rows: &[Vec<String>]) -> String {
    let mut out = String::from("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    let _ = write!(out, "{}\"><table><caption>{}</caption><thead><tr>", escape(caption), escape(caption));
    for title in titles {
        let _ = write!(out, "<th scope=\"col\">{title}</th>");
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (i, cell) in row.iter().enumerate() {
            let _ = match i {
                0 => write!(out, "<th scope=\"row\">{cell}</th>"),
                _ => write!(out, "<td>{cell}</td>"),
            };
        }
        out.push_str("</tr>\n");
    }
    out + "</tbody></table></div>\n"
}

/// A table that a reader opens.
pub(super) fn behind(caption: &str, titles: &[String], rows: &[Vec<String>]) -> String {
    format!("<details><summary>Numbers of this figure</summary>{}</details>\n", table(caption, titles, rows))
}
