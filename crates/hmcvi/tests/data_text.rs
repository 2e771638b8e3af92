//! Check dataset read from `.csv` and Matrix Market files, and that every error says where and what.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::path::Path;

use hmcvi::data::{
    About, CsvColumns, DataError, Dataset, Kind, Labels, Reading, Source, Splitting, Stored, Table, open_as,
    read_csv, read_csv_bytes, read_mtx, read_mtx_bytes,
};

fn csv(text: &str) -> Result<Table, DataError> {
    read_csv_bytes("test.csv", text.as_bytes(), &CsvColumns::default())
}

fn csv_of(text: &str, selected: &[&str], labels: Option<&str>) -> Result<Table, DataError> {
    let selected = selected.iter().map(|&name| name.to_owned()).collect();
    let columns = CsvColumns { selected, labels: labels.map(str::to_owned) };
    read_csv_bytes("test.csv", text.as_bytes(), &columns)
}

fn mtx(text: &str) -> Result<Table, DataError> {
    read_mtx_bytes("test.mtx", text.as_bytes(), false)
}

fn open(path: &Path, reading: &Reading) -> Result<Dataset, DataError> {
    open_as(&Source::File(path.into()), reading)
}

fn all(table: &Table) -> Vec<f32> {
    table.values(0..table.len()).unwrap().into_owned()
}

fn message(result: Result<impl std::fmt::Debug, DataError>) -> String {
    result.unwrap_err().to_string()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

const IRIS: &str = "\
sepal,petal,\"the species\"
5.1,1.4,setosa
7.0,4.7,versicolor
6.3,6e0,virginica
4.9,1.4,setosa
";

#[test]
fn columns_are_chosen_by_name_and_labels_are_numbered_by_theirs() {
    let table = csv_of(IRIS, &[], Some("the species")).unwrap();
    assert_eq!(table.names().unwrap(), ["sepal", "petal"]);
    assert_eq!(all(&table), [5.1, 1.4, 7.0, 4.7, 6.3, 6.0, 4.9, 1.4]);
    let labels = table.labels().unwrap();
    assert_eq!(labels.values(), [0, 1, 2, 0]);
    assert_eq!(labels.names().unwrap(), ["setosa", "versicolor", "virginica"]);
    assert_eq!((table.kind(), table.stored()), (Kind::Real, Stored::Float));
    let petal = csv_of(IRIS, &["petal"], None).unwrap();
    assert_eq!((petal.names().unwrap(), all(&petal)), (&["petal".to_owned()][..], vec![1.4, 4.7, 6.0, 1.4]));
    let swapped = csv_of(IRIS, &["petal", "sepal"], None).unwrap();
    assert_eq!(all(&swapped)[..2], [1.4, 5.1]);
    // Labels that are all whole numbers stand for themselves.
    let numbers = csv_of("x,y\n1,7\n2,-3\n", &[], Some("y")).unwrap();
    assert_eq!(numbers.labels(), Some(&Labels::numbers(vec![7, -3])));
}

#[test]
fn line_ends_quotes_spaces_and_marks_make_no_difference() {
    let expected = csv("a,b\n1,2\n3,4\n").unwrap();
    assert_eq!((all(&expected), expected.kind()), (vec![1.0, 2.0, 3.0, 4.0], Kind::Count));
    for text in ["a,b\r\n1,2\r\n3,4", "\u{feff}\"a\",b\n \"1\" , 2\n\n3,+4\n\n", "a,b\r1,2\r3,4\r"] {
        let text = text.replace(" \"1\" ", "\"1\"");
        assert_eq!(csv(&text).unwrap(), expected, "{text:?}");
    }
    let tabs = read_csv_bytes("test.tsv", b"a\tb\n1\t2\n3\t4\n", &CsvColumns::default()).unwrap();
    assert_eq!(tabs, expected);
    let truths = csv("a,b\nTrue,false\nFALSE,true\n").unwrap();
    assert_eq!((all(&truths), truths.kind()), (vec![1.0, 0.0, 0.0, 1.0], Kind::Binary));
    // More columns and longer rows than any buffer begins with.
    let names: Vec<String> = (0..3000).map(|i| format!("the column with the number {i}")).collect();
    let row: Vec<String> = (0..3000).map(|i| format!("{i}.25")).collect();
    let wide = csv(&format!("{}\n{}\n{}\n", names.join(","), row.join(","), row.join(","))).unwrap();
    assert_eq!((wide.len(), wide.columns(), all(&wide)[5999]), (2, 3000, 2999.25));
}

#[test]
fn cells_that_are_no_numbers_are_refused_by_column_row_and_line() {
    for missing in ["", "NA", "nan", "NaN", "N/A", "null", "?"] {
        let error = message(csv(&format!("age,size\n1,2\n\n3,{missing}\n")));
        assert!(error.contains("column `size` in row 1 (line 4)") && error.contains("missing"), "{error}");
        let error = message(csv_of(&format!("age,size\r\n1,2\r\n3,{missing}\r\n"), &["age"], Some("size")));
        assert!(error.contains("column `size` in row 1 (line 3)") && error.contains("missing"), "{error}");
        // Columns that are not read may have gaps.
        assert!(csv_of(&format!("age,size\n1,2\n3,{missing}\n"), &["age"], None).is_ok());
    }
    let text = message(csv("age,town\n31,Bern\n"));
    assert!(text.contains("column `town` in row 0 (line 2) is `Bern`, expected a number"), "{text}");
    assert!(text.contains("labels") && text.contains("select other columns"), "{text}");
    for large in ["1e39", "inf", "-Infinity"] {
        let error = message(csv(&format!("a,b\n1,{large}\n")));
        assert!(error.contains("column `b` in row 0 (line 2)") && error.contains("finite"), "{error}");
    }
}

#[test]
fn files_that_are_no_tables_are_refused() {
    for (text, words) in [
        ("", "header is missing"),
        ("a,b\n", "number of rows after the header is 0"),
        ("1,2\n3,4\n", "the names of the columns in the first line"),
        ("a;b\n1;2\n", "columns separated by commas"),
        ("a,b,a\n1,2,3\n", "twice a column `a`"),
        ("a,b\n1,2\n3\n", "number of cells in row 1 (line 3) is 1, expected 2"),
        (",a\n0,1\n", "name of column 0 is empty"),
    ] {
        let error = message(csv(text));
        assert!(error.contains(words), "{text:?}: {error}");
    }
    let endless = format!("a,b\n1,\"{}", "2\n".repeat(9 << 20));
    assert!(message(csv(&endless)).contains("is a quote not closed?"));
    assert!(message(csv_of("y\n1\n", &[], Some("y"))).contains("beside the labels"));
    let error = message(csv_of(IRIS, &["petal", "width"], None));
    assert!(error.contains("column `width`") && error.contains("`sepal`"), "{error}");
    assert_eq!(all(&csv_of(",a\n0,5\n", &["a"], None).unwrap()), [5.0]);
    let bytes = read_csv_bytes("test.csv", b"a\n\xff\n", &CsvColumns::default());
    assert!(message(bytes).contains("cell 0 in line 2 is not UTF-8"));
}

const COUNTS: &str = "\
%%MatrixMarket matrix coordinate integer general
% a comment

3 4 3
1 2 5
3 4 7
3 1 1
";

#[test]
fn matrix_market_files_are_sparse_counts() {
    let table = mtx(COUNTS).unwrap();
    assert!(table.is_sparse());
    assert_eq!((table.len(), table.columns(), table.kind()), (3, 4, Kind::Count));
    assert_eq!(all(&table), [0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 7.0]);
    let transposed = read_mtx_bytes("test.mtx", COUNTS.as_bytes(), true).unwrap();
    assert_eq!((transposed.len(), transposed.columns()), (4, 3));
    assert_eq!(all(&transposed), [0.0, 0.0, 1.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 7.0]);
    let real = mtx(&COUNTS.replace("integer", "REAL")).unwrap();
    assert_eq!((real.kind(), real.sha256()), (Kind::Count, table.sha256()));
    let fractions = mtx(&COUNTS.replace("integer", "real").replace("3 4 7", "3 4 -0.5")).unwrap();
    assert_eq!((fractions.kind(), fractions.summary().min), (Kind::Real, -0.5));
    assert_eq!(mtx(&COUNTS.replace("3 4 3", "16432 4 3")).unwrap().len(), 16_432);
    let pattern = mtx("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1").unwrap();
    assert_eq!((pattern.kind(), all(&pattern)), (Kind::Binary, vec![0.0, 0.0, 1.0, 0.0]));
}

#[test]
fn other_matrices_are_refused_by_what_they_are() {
    for (from, to, words) in [
        ("general", "symmetric", "symmetry is `symmetric`"),
        ("general", "skew-symmetric", "symmetry is `skew-symmetric`"),
        ("integer", "complex", "type of the values is `complex`"),
        ("coordinate", "array", "format is `array`"),
        ("%%MatrixMarket", "%%Matrix", "first line is"),
        ("3 4 3", "3 4", "line 4 is `3 4`"),
        ("3 4 3", "3 4 -3", "line 4 is `3 4 -3`"),
        ("3 4 3", "3 4 4", "number of values is 3, expected 4"),
        ("3 4 3", "3 4 2", "number of values is more, expected 2"),
        ("3 4 3", "3 4 99999999999", "of the values are there"),
        ("3 4 3", "9999999999 4 3", "number of rows is 9999999999, expected from 1 to"),
        // Empty rows take memory too: 2^14 are free, and 16 for each value.
        ("3 4 3", "16433 4 3", "number of rows is 16433, expected from 1 to 16432"),
        ("3 4 3", "3 0 3", "number of columns is 0"),
        ("1 2 5", "0 2 5", "line 5 is `0 2 5`, expected a row from 1 to 3, a column from 1 to 4"),
        ("1 2 5", "1 5 5", "line 5 is `1 5 5`"),
        ("1 2 5", "1 2 0.5", "and an integer"),
        ("1 2 5", "1 2", "line 5 is `1 2`"),
        ("1 2 5", "1 2 5 5", "line 5 is `1 2 5 5`"),
        ("1 2 5", "3 1 5", "row 2, column 0 (counted from 0) is given twice"),
    ] {
        let error = message(mtx(&COUNTS.replacen(from, to, 1)));
        assert!(error.contains(words), "{to}: {error}");
    }
    let nan = message(mtx(&COUNTS.replace("integer", "real").replace("1 2 5", "1 2 NaN")));
    assert!(nan.contains("line 5 is `1 2 NaN`") && nan.contains("finite"), "{nan}");
    let endless = format!("%%MatrixMarket matrix coordinate integer general\n%{}\n", "x".repeat(1 << 17));
    assert!(message(mtx(&endless)).contains("length of line 2"));
    assert!(message(mtx("")).contains("first line is ``"));
}

#[test]
fn the_same_content_has_the_same_hash_in_every_format() {
    let text = csv("a,b,c,d\n0,5,0,0\n0,0,0,0\n1,0,0,7\n").unwrap();
    let memory = Table::dense(4, all(&text)).unwrap();
    assert_eq!(text.sha256(), mtx(COUNTS).unwrap().sha256());
    assert_eq!(text.sha256(), memory.sha256());
    let other = csv("a,b,c,d\n0,5,0,0\n0,0,0,0\n1,0,7,0\n").unwrap();
    assert_ne!(text.sha256(), other.sha256());
}

#[test]
fn text_files_are_opened_by_name_also_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..70).map(|i| format!("{}.5,{i},{}\n", i, ["a", "b"][i % 2])).collect();
    let text = format!("x,y,class\n{rows}");
    let plain = folder.path().join("study.csv");
    let compressed = folder.path().join("study.CSV.gz");
    fs::write(&plain, &text).unwrap();
    fs::write(&compressed, gzip(&text)).unwrap();
    let columns = CsvColumns { selected: Vec::new(), labels: Some("class".into()) };
    assert_eq!(read_csv(&plain, &columns).unwrap(), read_csv(&compressed, &columns).unwrap());
    let reading = Reading { columns, ..Reading::default() };
    let dataset = open(&compressed, &reading).unwrap();
    assert_eq!((dataset.name(), dataset.train().len(), dataset.test().len()), ("study", 50, 10));
    assert_eq!(dataset.test().names().unwrap(), ["x", "y"]);
    // Labels follow their rows.
    for (row, &in_file) in dataset.test().rows_in_file().unwrap().iter().enumerate() {
        assert_eq!(dataset.test().labels().unwrap().values()[row], i64::from(in_file % 2));
        assert_eq!(dataset.test().values(row..row + 1).unwrap()[1], in_file as f32);
    }
    let path = folder.path().join("matrix.mtx.gz");
    fs::write(&path, gzip(COUNTS)).unwrap();
    assert_eq!(read_mtx(&path, true).unwrap().len(), 4);
    let in_order = Reading { splitting: Splitting::InOrder, ..Reading::default() };
    let dataset = open(&path, &in_order).unwrap();
    assert!(dataset.remarks().iter().any(|r| r.about == About::Columns && r.text.contains("transpose")));
    assert!(message(open(&path, &reading)).contains("only .csv and .tsv files name their columns"));
    let genes = Reading { transpose: true, ..in_order };
    let dataset = open(&path, &genes).unwrap();
    assert_eq!((dataset.train().columns(), dataset.summary().rows), (3, 4));
    assert!(!dataset.remarks().iter().any(|remark| remark.text.contains("transpose")));
    // A file that is cut short says so.
    let whole = gzip(&text);
    fs::write(&compressed, &whole[..whole.len() / 2]).unwrap();
    assert!(message(open(&compressed, &reading)).contains("cannot decompress"));
}
