//! Check that programs and draws see rows as tables hold them, whatever their kind.
#![allow(clippy::unwrap_used)]

use hmcvi::config::{DataSettings, RunSpec};
use hmcvi::data::{Binarisation, DataError, Dataset, Drawn, Kind, Seen, Split, Splitting, Table, batch};
use hmcvi::model::likelihood::LikelihoodKind;
use hmcvi::run::open_data;
use hmcvi_graph::{CpuOptions, DataSet, Expr, Graph, Run, Store};

const ROWS: [u32; 4] = [3, 0, 3, 5];

/// Some rows as a program gathers them.
fn gathered<'g>(graph: &'g Graph, x: Expr<'g>, data: (&str, DataSet<'_>)) -> Vec<f32> {
    let program = graph.program().output("x", x).compile().unwrap();
    let mut runner = program.on_cpu::<f32>(CpuOptions::for_rows(ROWS.len()));
    let run = Run { rows: ROWS.len(), data: &[data], indices: &[batch(&ROWS)], seed: 1, ..Run::default() };
    runner.run(&mut Store::new(), &run).unwrap();
    runner.output("x").unwrap().to_vec()
}

/// The same rows of what was drawn.
fn picked(drawn: &Drawn) -> Vec<f32> {
    ROWS.iter().flat_map(|&row| drawn.values(row as usize..row as usize + 1)).collect()
}

fn number(i: usize) -> f32 {
    (i * i % 7) as f32
}

fn dense(value: impl Fn(usize) -> f32) -> Table {
    Table::dense(3, (0..18).map(value).collect()).unwrap()
}

fn sparse(value: impl Fn(usize) -> f32) -> Table {
    let starts: Vec<usize> = (0..=6).map(|row| 2 * row).collect();
    let indices: Vec<u32> = (0..6).flat_map(|_| [0, 2]).collect();
    Table::sparse(3, &starts, &indices, &(0..12).map(value).collect::<Vec<_>>()).unwrap()
}

/// Tables that are seen as they are.
fn tables() -> Vec<(Table, Kind)> {
    let truth = |i| (i % 2) as f32;
    vec![
        (dense(|i| number(i) - 2.5), Kind::Real),
        (dense(number), Kind::Count),
        (dense(number), Kind::Class),
        (dense(truth), Kind::Binary),
        (sparse(|i| number(i) - 2.5), Kind::Real),
        (sparse(number), Kind::Count),
        (sparse(truth), Kind::Binary),
    ]
}

#[test]
fn values_are_seen_as_they_are_held() {
    for (table, kind) in tables() {
        let table = table.taken_as(Some(kind)).unwrap();
        // Whatever settings say about pixels.
        let observation = DataSettings::default().observation(&table);
        assert!(!observation.is_random(), "{kind}");
        let drawn = observation.draw(&table, 7, 3);
        assert_eq!((drawn.len(), drawn.columns(), drawn.observation()), (6, 3, observation));
        assert_eq!(drawn.values(0..6), table.values(0..6).unwrap().as_ref());
        let graph = Graph::new();
        assert_eq!(gathered(&graph, observation.anew(&graph), table.data_set()), picked(&drawn), "{kind}");
        let graph = Graph::new();
        assert_eq!(gathered(&graph, observation.drawn(&graph), drawn.data_set()), picked(&drawn), "{kind}");
    }
}

#[test]
fn what_is_not_drawn_is_shared() {
    let start = |(_, data): (&str, DataSet<'_>)| match data {
        DataSet::Bytes(bytes) => bytes.as_ptr() as usize,
        DataSet::Values(values) => values.as_ptr() as usize,
        DataSet::Sparse(rows) => std::ptr::from_ref(rows) as usize,
    };
    let (grey, embedded) =
        (DataSettings { binarisation: Binarisation::None, ..DataSettings::default() }, embedded());
    for (table, settings) in [
        (dense(number), DataSettings::default()),
        (sparse(number), DataSettings::default()),
        (embedded.test().clone(), grey),
    ] {
        let drawn = settings.observation(&table).draw(&table, 1, 0);
        assert_eq!(start(drawn.data_set()), start(table.data_set()));
    }
}

fn embedded() -> Dataset {
    Dataset::embedded().unwrap()
}

#[test]
fn pixels_are_scaled_and_drawn() {
    let data = embedded();
    let table = data.test().slice(0..6).unwrap();
    for binarisation in [Binarisation::None, Binarisation::Threshold, Binarisation::Stochastic] {
        let settings = DataSettings { binarisation, ..DataSettings::default() };
        let observation = settings.observation(&table);
        assert_eq!(observation.seen, Seen::Pixels { binarisation, scale: settings.pixel_scale });
        let drawn = observation.draw(&table, 1, 0);
        let graph = Graph::new();
        assert_eq!(gathered(&graph, observation.drawn(&graph), drawn.data_set()), picked(&drawn));
        let expected: Vec<f32> =
            table
                .values(0..6)
                .unwrap()
                .iter()
                .map(|byte| {
                    if binarisation == Binarisation::None { byte / 256.0 } else { f32::from(*byte >= 128.0) }
                })
                .collect();
        if binarisation == Binarisation::Stochastic {
            assert!(observation.is_random() && drawn.values(0..6).iter().all(|x| *x == 0.0 || *x == 1.0));
        } else {
            assert_eq!(drawn.values(0..6), expected);
        }
    }
}

fn opened(folder: &std::path::Path, text: &str, settings: DataSettings) -> Result<Dataset, DataError> {
    let path = folder.join("table.csv");
    std::fs::write(&path, text).unwrap();
    open_data(&DataSettings { source: path.display().to_string(), ..settings })
}

#[test]
fn settings_choose_columns_and_classes_are_expanded() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..7).map(|i| format!("{},{},{}\n", i % 2, i % 3, ["a", "b"][i % 2])).collect();
    let text = format!("x,y,town\n{rows}");
    let settings = DataSettings {
        columns: vec!["y".into(), "x".into()],
        labels: Some("town".into()),
        kind: Some(Kind::Class),
        split: Splitting::InOrder,
        ..DataSettings::default()
    };
    let data = opened(folder.path(), &text, settings.clone()).unwrap();
    assert_eq!(data.train().names().unwrap(), ["y=0", "y=1", "y=2", "x=0", "x=1"]);
    assert_eq!((data.train().groups(), data.train().len()), (Some(&[3, 2][..]), 5));
    assert_eq!(data.train().labels().unwrap().names().unwrap(), ["a", "b"]);
    let limited = opened(folder.path(), &text, DataSettings { limit: 1, ..settings.clone() }).unwrap();
    assert_eq!(Split::ALL.map(|split| limited.table(split).len()), [1; 3]);
    assert_eq!(limited.train().groups(), data.train().groups(), "all rows decide about classes");
    // Nothing is left to chance.
    let kept = settings.for_data(&data);
    assert_eq!((kept.kind, kept.binarisation), (Some(Kind::Class), Binarisation::None));
    let spec = RunSpec { data: settings, ..RunSpec::default() }.for_data(&data).unwrap();
    assert_eq!((spec.model.likelihood(), &spec.model.groups[..]), (LikelihoodKind::Categorical, &[3, 2][..]));
}

#[test]
fn values_that_a_likelihood_does_not_allow_are_refused_by_name() {
    let names = vec!["a".into(), "b".into(), "c".into()];
    let table = |value: fn(usize) -> f32| dense(value).with_names(names.clone()).unwrap();
    let data = |table: Table| {
        let parts = (table.clone(), Some(table.clone()), Some(table));
        Dataset::from_parts("made", "made.csv", Splitting::InOrder, parts).unwrap()
    };
    let with = |likelihood: LikelihoodKind| {
        let mut spec = RunSpec::default();
        spec.model.likelihood = Some(likelihood);
        spec
    };
    let halves = data(table(|i| i as f32 * 0.5));
    let error = with(LikelihoodKind::Poisson).for_data(&halves).unwrap_err().to_string();
    for part in ["`model.likelihood` is poisson", "row 0", "column `b`", "0.5", "an integer of at least 0"] {
        assert!(error.contains(part), "{error}");
    }
    assert!(with(LikelihoodKind::Gaussian).for_data(&halves).is_ok());
    // Left open, the kind decides; intensities are no counts.
    let spec = RunSpec::default().for_data(&halves).unwrap();
    assert_eq!((spec.model.likelihood(), spec.data.kind), (LikelihoodKind::Gaussian, Some(Kind::Real)));
    assert_eq!(spec.for_data(&halves).unwrap(), spec, "settings that fit stay as they are");
    let error = with(LikelihoodKind::Poisson).for_data(&embedded()).unwrap_err().to_string();
    assert!(error.contains("`data.kind=count`"), "{error}");
    let grey = with(LikelihoodKind::Gaussian).for_data(&embedded()).unwrap();
    assert_eq!(grey.data.binarisation, Binarisation::None);
    let mut odd = with(LikelihoodKind::Categorical);
    odd.model.groups = vec![2, 2];
    let error = odd.for_data(&data(table(|i| f32::from(i % 3 == 0)))).unwrap_err().to_string();
    assert!(error.contains("`model.groups` is [2, 2]"), "{error}");
}

#[test]
fn settings_of_a_format_do_not_follow_to_another() {
    let settings = DataSettings {
        columns: vec!["x".into()],
        labels: Some("y".into()),
        transpose: true,
        kind: Some(Kind::Real),
        ..DataSettings::default()
    };
    let csv = settings.for_other_data("other.csv.gz".into());
    assert_eq!((csv.columns.len(), csv.labels.is_some(), csv.transpose, csv.kind), (1, true, false, None));
    let mtx = settings.for_other_data("other.mtx".into());
    assert_eq!((mtx.columns.len(), mtx.labels.is_some(), mtx.transpose), (0, false, true));
    let npy = settings.for_other_data("other.npy".into());
    assert_eq!((npy.columns.len(), npy.labels.is_some(), npy.transpose), (0, false, false));
}
