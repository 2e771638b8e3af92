//! Train every row of the paper's table for a few updates and compare all bits with those recorded before.
//!
//! Published numbers stay reproducible only if the same seed keeps giving the same draws and the same order of
//! operations. To record the bits anew, after a change that is meant to move them, run this test with
//! `HMCVI_RECORD_BITS=1` and say in the change log which rows moved and why.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::part_of_the_data;
use hmcvi::config::{PAPER_TABLE, preset};
use hmcvi::device::Device;
use hmcvi::train::Trainer;
use sha2::{Digest, Sha256};

/// A hash of all tensors after one epoch of five updates, and the mean bounds of that epoch.
fn fingerprint(name: &str) -> String {
    let mut spec = preset(name).expect("a preset");
    (spec.train.batch, spec.train.epochs, spec.data.evaluation_draws) = (100, 1, 1);
    let mut trainer =
        Trainer::new(&spec, part_of_the_data(500, 50), &Device::cpu(2), None).expect("training begins");
    let epoch = trainer.epoch(&mut ()).expect("it trains").expect("nobody stops it");
    let mut hash = Sha256::new();
    for (name, tensor) in trainer.store().expect("the tensors are there").iter() {
        hash.update(name);
        tensor.values.iter().for_each(|v| hash.update(v.to_bits().to_le_bytes()));
    }
    hash.update(epoch.train["bound"].to_bits().to_le_bytes());
    hash.update(epoch.validation.expect("the last epoch is validated")["bound"].to_bits().to_le_bytes());
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn every_row_of_the_table_trains_to_the_recorded_bits() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/same_bits.json");
    let found: BTreeMap<String, String> =
        PAPER_TABLE.iter().map(|row| (row.preset.to_owned(), fingerprint(row.preset))).collect();
    if std::env::var_os("HMCVI_RECORD_BITS").is_some() {
        let text = serde_json::to_string_pretty(&found).expect("strings are JSON");
        std::fs::write(&file, text + "\n").expect("the record can be written");
    }
    let text = std::fs::read_to_string(&file).expect("the record is part of the repository");
    let recorded: BTreeMap<String, String> = serde_json::from_str(&text).expect("the record is JSON");
    assert_eq!(found, recorded);
}
