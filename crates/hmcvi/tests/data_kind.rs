//! Check what values are taken for, and what is said where they are probably something else.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use hmcvi::config::{DataSettings, RunSpec};
use hmcvi::data::{
    About, Binarisation, DataError, Dataset, Kind, PixelScale, Reading, Remark, Severity, Source, Split,
    Splitting, Table, info, open, open_as, write_npy,
};
use hmcvi::run::open_data;

/// 14 images of 2 x 4 pixels, no column of which is constant.
fn images(value: impl Fn(usize) -> u8) -> Vec<u8> {
    // Rows are eight long, so that a step of nine moves the pattern from row to row.
    (0..14 * 8).map(|i| value(i + i / 8)).collect()
}

fn save(folder: &Path, values: &[u8]) -> Source {
    let path = folder.join("data.npy");
    write_npy(&path, &[14, 2, 4], values).unwrap();
    Source::File(path)
}

/// Bytes of a `.npy` file of truth values.
fn save_bool(folder: &Path, values: &[u8]) -> Source {
    let path = folder.join("data.npy");
    write_npy(&path, &[14, 2, 4], values).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(3).position(|code| code == b"|u1").unwrap();
    bytes[at + 1] = b'b';
    std::fs::write(&path, bytes).unwrap();
    Source::File(path)
}

fn about(remarks: &[Remark], about: About) -> Vec<(Severity, &str)> {
    let found = remarks.iter().filter(|remark| remark.about == about);
    found.map(|remark| (remark.severity, remark.text.as_str())).collect()
}

#[test]
fn two_values_are_binary_data_however_they_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let pattern = |one: u8| images(|i| if i % 3 == 0 { one } else { 0 });
    let numbers = open(&save(folder.path(), &pattern(1))).unwrap();
    let greys = open(&save(folder.path(), &pattern(255))).unwrap();
    let truths = open(&save_bool(folder.path(), &pattern(1))).unwrap();
    for dataset in [&numbers, &greys, &truths] {
        assert_eq!((dataset.kind(), dataset.sha256()), (Kind::Binary, numbers.sha256()));
        let remarks = dataset.remarks();
        assert!(
            matches!(about(&remarks, About::Kind)[..], [(Severity::Note, text)] if text.contains("binary"))
        );
        assert_eq!(about(&remarks, About::Range), []);
    }
    // The settings that follow give exactly the values of the file, without a draw.
    let settings = DataSettings::default().for_data(&numbers);
    assert_eq!((settings.kind, settings.binarisation), (Some(Kind::Binary), Binarisation::Threshold));
    assert_eq!(settings.pixel_scale, PixelScale::P255);
    for draw in 0..20 {
        let train = numbers.train();
        let values = settings.observation(train).draw(train, 1, draw).values(0..train.len());
        let expected: Vec<f32> = train.bytes().unwrap().iter().map(|&byte| f32::from(byte == 255)).collect();
        assert_eq!(values, expected);
    }
    let limited = open_data(&DataSettings {
        source: save_bool(folder.path(), &pattern(1)).to_string(),
        limit: 2,
        ..DataSettings::default()
    });
    assert_eq!(limited.unwrap().kind(), Kind::Binary);
}

#[test]
fn other_values_are_bytes() {
    let folder = tempfile::tempdir().unwrap();
    for values in [images(|i| [0, 1, 255][i % 3]), images(|i| [0, 2][i % 2]), images(|_| 0), images(|_| 1)] {
        let dataset = open(&save(folder.path(), &values)).unwrap();
        assert_eq!((dataset.kind(), about(&dataset.remarks(), About::Kind).len()), (Kind::Byte, 0));
        let settings = DataSettings { kind: Some(Kind::Byte), ..DataSettings::default() };
        assert_eq!(DataSettings::default().for_data(&dataset), settings);
    }
    assert_eq!(Dataset::embedded().unwrap().kind(), Kind::Byte);
}

#[test]
fn a_kind_can_be_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let read = |values: Vec<u8>, kind| {
        let splitting = Splitting::InOrder;
        open_as(&save(folder.path(), &values), &Reading { kind: Some(kind), splitting, ..Reading::default() })
    };
    let ones = read(images(|i| (i % 2) as u8), Kind::Byte).unwrap();
    assert_eq!((ones.kind(), ones.train().bytes().unwrap().iter().max()), (Kind::Byte, Some(&1)));
    let warning = about(&ones.remarks(), About::Range)[0].1.to_owned();
    assert!(warning.starts_with("every value is 0 or 1, but"), "{warning}");
    let zeros = read(images(|_| 0), Kind::Binary).unwrap();
    assert_eq!(zeros.kind(), Kind::Binary);
    let error = read(images(|i| (i % 4) as u8), Kind::Binary).unwrap_err();
    assert!(matches!(error, DataError::Field { .. }));
    assert!(
        error.to_string().ends_with("row 0, column 2 is 2, expected 0 or 1, as `data.kind` is `binary`"),
        "{error}"
    );
}

/// What is said about the range of values in these images.
fn range(value: impl Fn(usize) -> u8) -> Option<String> {
    let images = Table::images(2, 4, images(value), None).unwrap();
    let dataset = Dataset::from_parts("d", "s", Splitting::InOrder, (images, None, None)).unwrap();
    let remarks = dataset.remarks();
    let found = about(&remarks, About::Range);
    assert!(found.iter().all(|(severity, _)| *severity == Severity::Warning));
    found.first().map(|(_, text)| (*text).to_owned())
}

#[test]
fn values_that_are_no_intensities_are_warned_about() {
    let counts = range(|i| (i % 10) as u8).unwrap();
    assert!(counts.starts_with("the largest value is 9, but values are taken for intensities"), "{counts}");
    assert!(counts.contains("numpy.round(x * (255 / 9)).astype('uint8')"), "{counts}");
    assert!(range(|i| if i % 2 == 0 { 127 } else { 60 }).is_some());
    assert_eq!(range(|i| if i % 2 == 0 { 128 } else { 60 }), None);
    // Counts of words: one is very frequent, most are 1.
    let words = range(|i| [0, 0, 0, 1, 1, 1, 2, 200][i % 8]).unwrap();
    assert!(words.starts_with("most of the values that are not 0 are 3 or less"), "{words}");
    // Dark pictures.
    assert_eq!(range(|i| [0, 0, 0, 20, 40, 1, 2, 200][i % 8]), None);
    assert_eq!(about(&Dataset::embedded().unwrap().remarks(), About::Range), []);
}

/// What is said about columns, where the last `constant` of 20 never change.
fn columns(height: usize, constant: usize) -> Vec<(Severity, String)> {
    let value = |i: usize| if i % 20 >= 20 - constant { 9 } else { (i * 37 % 256) as u8 };
    let images = Table::images(height, 20 / height, (0..14 * 20).map(value).collect(), None).unwrap();
    let dataset = Dataset::from_parts("d", "s", Splitting::Shuffled, (images, None, None)).unwrap();
    let remarks = dataset.remarks();
    about(&remarks, About::Columns).into_iter().map(|(severity, text)| (severity, text.to_owned())).collect()
}

#[test]
fn columns_that_never_change_are_counted() {
    assert_eq!(columns(1, 0), []);
    // In images as a matter of course, elsewhere up to a tenth.
    for (height, constant, severity) in [
        (4, 12, Severity::Info),
        (1, 2, Severity::Info),
        (1, 3, Severity::Warning),
        (4, 20, Severity::Warning),
    ] {
        let [(found, text)] = &columns(height, constant)[..] else { panic!("one remark") };
        assert_eq!(*found, severity, "{text}");
        assert!(
            constant == 20 || text.starts_with(&format!("{constant} of 20 columns never change")),
            "{text}"
        );
    }
    let embedded = Dataset::embedded().unwrap();
    let constant = (0..784).filter(|&pixel| {
        Split::ALL.iter().all(|&split| {
            embedded.table(split).bytes().unwrap().iter().skip(pixel).step_by(784).all(|&b| b == 0)
        })
    });
    let expected =
        format!("{} of 784 columns never change, as usual for pixels at the border", constant.count());
    let remarks = embedded.remarks();
    assert!(
        matches!(about(&remarks, About::Columns)[..], [(Severity::Info, text)] if text.starts_with(&expected))
    );
}

#[test]
fn remarks_are_part_of_the_description() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = open(&save(folder.path(), &images(|i| (i % 10) as u8))).unwrap();
    let json = serde_json::to_value(info(&dataset)).unwrap();
    assert_eq!(json["kind"], "byte");
    let severities: Vec<_> = json["remarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (r["about"].as_str(), r["severity"].as_str()))
        .collect();
    assert_eq!(severities, [(Some("split"), Some("note")), (Some("range"), Some("warning"))]);
}

#[test]
fn settings_from_before_are_read_as_they_were_meant() {
    let old = "[data]\nsource = \"a.npz\"\n[model]\nlatent = 2\n";
    let recorded = RunSpec::from_record(old).unwrap();
    assert_eq!((recorded.data.kind, recorded.data.split), (Some(Kind::Byte), Splitting::Earlier));
    assert_eq!((recorded.data.source.as_str(), recorded.model.latent), ("a.npz", 2));
    assert_eq!(RunSpec::from_record("seed = 3").unwrap().data.split, Splitting::Earlier);
    // A file of one's own gets what is usual now, and what is recorded now stays.
    let own = RunSpec::from_toml(old).unwrap();
    assert_eq!((own.data.kind, own.data.split), (None, Splitting::Shuffled));
    let data =
        DataSettings { kind: Some(Kind::Binary), split: Splitting::InOrder, ..DataSettings::default() };
    let new = RunSpec { data: data.clone(), ..RunSpec::default() };
    assert_eq!(RunSpec::from_record(&new.to_toml()).unwrap(), new);
    // What only tables need is written only where it is used.
    assert!(!["columns", "labels", "transpose"].iter().any(|key| new.to_toml().contains(key)));
    for kind in Kind::ALL {
        let columns = vec!["a".into(), "b c".into()];
        let data = DataSettings {
            kind: Some(kind),
            columns,
            labels: Some("d".into()),
            transpose: true,
            ..data.clone()
        };
        let new = RunSpec { data, ..RunSpec::default() };
        assert_eq!(RunSpec::from_record(&new.to_toml()).unwrap(), new);
    }
    for written in ["data.columns=[a, b c]", "data.columns=[\"a\", \"b c\"]"] {
        let spec = RunSpec::default().with_assignments(&[written]).expect("quotes may be left out");
        assert_eq!(spec.data.columns, ["a", "b c"], "{written}");
    }
    let error = RunSpec::default().with_assignments(&["model.hidden=[a]"]).unwrap_err().to_string();
    assert!(error.contains("`model.hidden` is \"[a]\""), "{error}");
    let error = RunSpec::default().with_assignments(&["data.columns=a"]).unwrap_err().to_string();
    assert!(error.contains("a list of strings, such as [\"a\", \"b\"]"), "{error}");
}
