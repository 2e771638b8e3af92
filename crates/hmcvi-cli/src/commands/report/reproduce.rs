//! Find the commands that make a run again, and say where they do not give the same numbers.

use std::path::Path;

use hmcvi::config::RunSpec;
use hmcvi::run::initial_sha256;
use hmcvi_record::{ChangedSetting, Evaluation, RunInfo, SettingsChange, files};
use hmcvi_report::{counted, quoted};

use super::gather::name;

/// Commands that make the run and its evaluation again, in another place.
pub(super) fn commands(path: &Path, info: Option<&RunInfo>, evaluation: Option<&Evaluation>) -> Vec<String> {
    let again = quoted(&format!("{}-again", path.display()));
    let config = quoted(&path.join(files::CONFIG).display().to_string());
    let changes = info.map_or(&[][..], |info| &info.changes);
    let mut all = vec![format!("hmcvi train {config}{} --out {again}", assignments(original(changes)))];
    for change in changes {
        if !change.finished {
            all.push(format!("# interrupt it after {}", counted(change.step, "update")));
        }
        let to = change.settings.iter().filter_map(|s| Some((s.key.clone(), s.to.clone()?)));
        all.push(format!("hmcvi resume {again}{}", assignments(to.collect())));
    }
    let earlier = evaluation.iter().flat_map(|e| e.kept_from.iter().chain([&e.command]));
    all.extend(earlier.filter_map(|command| evaluate(command, path, &again)));
    all
}

/// The values that changed settings had at the beginning. The settings file has the last ones.
fn original(changes: &[SettingsChange]) -> Vec<(String, String)> {
    let mut first: Vec<(String, String)> = Vec::new();
    for ChangedSetting { key, from, .. } in changes.iter().flat_map(|c| &c.settings) {
        if let (Some(from), false) = (from, first.iter().any(|(known, _)| known == key)) {
            first.push((key.clone(), from.clone()));
        }
    }
    first
}

fn assignments(values: Vec<(String, String)>) -> String {
    let words: Vec<String> = values.iter().map(|(key, value)| quoted(&format!("{key}={value}"))).collect();
    if words.is_empty() { String::new() } else { format!(" --set {}", words.join(" ")) }
}

/// A command that evaluated the run, with the other run's place.
fn evaluate(command: &[String], path: &Path, again: &str) -> Option<String> {
    let words = command.iter().skip_while(|word| *word != "eval").skip(1);
    let is_run = |word: &str| !word.starts_with('-') && name(Path::new(word)) == name(path);
    let words = words.map(|w| if is_run(w) { again.to_string() } else { quoted(w) });
    // Runs of `quickstart` and `reproduce` are evaluated by other commands.
    command
        .iter()
        .any(|word| word == "eval")
        .then(|| std::iter::once("hmcvi eval".into()).chain(words).collect::<Vec<_>>().join(" "))
}

/// Why the commands do not give exactly the same numbers, where they do not.
pub(super) fn caveats(spec: &RunSpec, info: Option<&RunInfo>) -> Vec<String> {
    let mut all = Vec::new();
    let interrupted = info.and_then(|info| info.changes.iter().find(|change| !change.finished));
    if let Some(change) = interrupted {
        all.push(format!(
            "settings were changed after update {}, before training had finished: the first command has to be interrupted \
             after exactly that update",
            change.step
        ));
    }
    let Some(from) = &spec.train.init_from else { return all };
    let place = from.display();
    match (info.and_then(|info| info.initial_sha256.as_ref()), initial_sha256(from)) {
        (_, None) => all.push(format!("the run that it began with, {place}, is gone")),
        (Some(then), Some(now)) if *then != now => {
            all.push(format!("the run that it began with, {place}, was trained further since"));
        }
        (Some(_), Some(_)) => {}
        (None, Some(_)) => {
            all.push(format!("whether {place}, which it began with, is still the same was not recorded"));
        }
    }
    all
}
