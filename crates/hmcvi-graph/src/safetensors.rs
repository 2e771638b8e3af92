//! Lay out and check the safetensors format: the length of a header, the header as JSON, the values of all tensors.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::RunError;

/// The key of the text beside the tensors, which no tensor can be called.
const METADATA: &str = "__metadata__";
/// Bytes of the number that says how long the header is.
const LENGTH: usize = 8;
/// The format allows no longer header.
const LONGEST_HEADER: usize = 100_000_000;

/// The types of values that are read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    F16,
    F32,
    F64,
}

impl Precision {
    const ALL: [Precision; 3] = [Precision::F16, Precision::F32, Precision::F64];

    fn name(self) -> &'static str {
        match self {
            Precision::F16 => "F16",
            Precision::F32 => "F32",
            Precision::F64 => "F64",
        }
    }

    /// Bytes of a value.
    fn bytes(self) -> usize {
        match self {
            Precision::F16 => 2,
            Precision::F32 => 4,
            Precision::F64 => 8,
        }
    }

    /// Bytes of a tensor, if there can be so many.
    fn bytes_of(self, shape: &[usize]) -> Option<usize> {
        shape.iter().try_fold(self.bytes(), |bytes, &length| bytes.checked_mul(length))
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    #[serde(rename = "__metadata__", skip_serializing_if = "Option::is_none")]
    metadata: Option<BTreeMap<String, String>>,
    #[serde(flatten)]
    tensors: BTreeMap<String, Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    /// First byte and the one after the last, counted from the end of the header.
    data_offsets: [usize; 2],
}

/// A tensor of a file.
#[derive(Debug)]
pub(crate) struct View<'a> {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) precision: Precision,
    /// Its values, little-endian.
    pub(crate) values: &'a [u8],
}

/// The beginning of a file of matrices, with room for their values, which are to follow in the same order.
pub(crate) fn begin<'n>(
    precision: Precision,
    matrices: impl Iterator<Item = (&'n str, [usize; 2])>,
    metadata: &BTreeMap<String, String>,
) -> Result<Vec<u8>, RunError> {
    let (mut tensors, mut end) = (BTreeMap::new(), 0);
    for (name, [rows, cols]) in matrices {
        if name == METADATA {
            return Err(RunError::ReservedName(name.into()));
        }
        let first = end;
        end += rows * cols * precision.bytes();
        let (dtype, shape) = (precision.name().into(), vec![rows, cols]);
        tensors.insert(name.into(), Entry { dtype, shape, data_offsets: [first, end] });
    }
    // An empty entry is not read back by all versions of the format.
    let metadata = (!metadata.is_empty()).then(|| metadata.clone());
    let mut header = serde_json::to_vec(&Header { metadata, tensors }).expect("text and numbers become JSON");
    // The values begin at a multiple of eight bytes, so that others can use them where they are.
    header.resize(header.len().next_multiple_of(LENGTH), b' ');
    let mut bytes = Vec::with_capacity(LENGTH + header.len() + end);
    bytes.extend((header.len() as u64).to_le_bytes());
    bytes.extend(header);
    Ok(bytes)
}

/// The tensors of a file in the order of their values, which must be all that follows the header, and the text beside
/// them.
pub(crate) fn read(bytes: &[u8]) -> Result<(Vec<View<'_>>, BTreeMap<String, String>), RunError> {
    let (header, data) = split(bytes)?;
    let header: Header = serde_json::from_slice(header)
        .map_err(|why| RunError::Format(format!("the header does not describe tensors: {why}")))?;
    let mut entries: Vec<_> = header.tensors.into_iter().collect();
    entries.sort_by_key(|(_, entry)| entry.data_offsets);
    let (mut tensors, mut rest) = (Vec::with_capacity(entries.len()), data);
    for (name, entry) in entries {
        let view = take(name, entry, data.len() - rest.len(), rest)?;
        rest = &rest[view.values.len()..];
        tensors.push(view);
    }
    if !rest.is_empty() {
        let why = format!("{} bytes follow the last tensor, and none should", rest.len());
        return Err(RunError::Format(why));
    }
    Ok((tensors, header.metadata.unwrap_or_default()))
}

/// The header, and what follows it.
fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), RunError> {
    let short = || RunError::Format(format!("the file ends after {} bytes, within its header", bytes.len()));
    let (length, rest) = bytes.split_first_chunk::<LENGTH>().ok_or_else(short)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    if length > LONGEST_HEADER {
        let why = format!("its header would take {length} bytes, and at most {LONGEST_HEADER} are allowed");
        return Err(RunError::Format(why));
    }
    rest.split_at_checked(length).ok_or_else(short)
}

/// The tensor that an entry describes, whose values are the first of `rest`; so many bytes came before.
fn take(name: String, entry: Entry, before: usize, rest: &[u8]) -> Result<View<'_>, RunError> {
    let Entry { dtype, shape, data_offsets: [first, end] } = entry;
    let wrong = |what: String| Err(RunError::Format(format!("tensor `{name}` {what}")));
    let Some(precision) = Precision::ALL.into_iter().find(|p| p.name() == dtype) else {
        return wrong(format!("has type {dtype}, not F16, F32 or F64"));
    };
    if first != before {
        return wrong(format!(
            "begins at byte {first} of the values, not where the one before it ends ({before})"
        ));
    }
    let declared = end.checked_sub(first);
    if declared.is_none() || declared != precision.bytes_of(&shape) {
        return wrong(format!(
            "has shape {shape:?} and type {dtype}, which the bytes {first} to {end} do not hold"
        ));
    }
    match rest.get(..end - first) {
        Some(values) => Ok(View { name, shape, precision, values }),
        None => {
            wrong(format!("ends at byte {end} of the values, of which there are {}", before + rest.len()))
        }
    }
}
