//! Hold values of a program while it runs: numbers that are known, and results of operations that wait for parameters.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::types::{Base, Ty};

/// Most dimensions of a value: five of arrays, two of a matrix, and the parts of complex numbers.
const MOST: usize = 8;

/// Sizes along each dimension.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Sizes {
    rank: u8,
    sizes: [u32; MOST],
}

impl Sizes {
    pub(crate) const SCALAR: Sizes = Sizes { rank: 0, sizes: [1; MOST] };

    pub(crate) fn new(sizes: &[usize]) -> Sizes {
        let mut all = [1; MOST];
        for (to, from) in all.iter_mut().zip(sizes) {
            *to = u32::try_from(*from).unwrap_or(u32::MAX);
        }
        Sizes { rank: sizes.len().min(MOST) as u8, sizes: all }
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank as usize
    }

    pub(crate) fn at(&self, i: usize) -> usize {
        self.sizes[i] as usize
    }

    pub(crate) fn to_vec(self) -> Vec<usize> {
        (0..self.rank()).map(|i| self.at(i)).collect()
    }

    pub(crate) fn elements(&self) -> usize {
        (0..self.rank()).fold(1, |n: usize, i| n.saturating_mul(self.at(i)))
    }
}

impl std::fmt::Display for Sizes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.to_vec())
    }
}

/// One number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Cell {
    Known(f64),
    /// An element of the result of an operation.
    Of {
        node: u32,
        at: u32,
    },
}

/// Numbers, row by row: the last dimension varies fastest.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    Num(f64),
    Known(Arc<Vec<f64>>),
    /// Neighbouring elements of the result of an operation.
    Span {
        node: u32,
        start: u32,
    },
    Cells(Arc<Vec<Cell>>),
}

/// Numbers with their type and sizes.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) ty: Ty,
    pub(crate) sizes: Sizes,
    pub(crate) data: Data,
}

impl Value {
    pub(crate) fn num(number: f64) -> Value {
        Value { ty: Ty::REAL, sizes: Sizes::SCALAR, data: Data::Num(number) }
    }

    pub(crate) fn int(number: f64) -> Value {
        Value { ty: Ty::INT, ..Value::num(number) }
    }

    pub(crate) fn truth(truth: bool) -> Value {
        Value::int(f64::from(u8::from(truth)))
    }

    pub(crate) fn void() -> Value {
        Value { ty: Ty::VOID, ..Value::num(0.0) }
    }

    /// Known numbers.
    pub(crate) fn known_of(ty: Ty, sizes: &[usize], values: Vec<f64>) -> Value {
        let data = if sizes.is_empty() { Data::Num(values[0]) } else { Data::Known(Arc::new(values)) };
        Value { ty, sizes: Sizes::new(sizes), data }
    }

    pub(crate) fn vector(values: Vec<f64>) -> Value {
        Value::known_of(Ty::VECTOR, &[values.len()], values)
    }

    pub(crate) fn matrix(rows: usize, cols: usize, values: Vec<f64>) -> Value {
        Value::known_of(Ty::MATRIX, &[rows, cols], values)
    }

    pub(crate) fn ints(values: Vec<f64>) -> Value {
        Value::known_of(Ty::INT.array(1), &[values.len()], values)
    }

    /// A value of these cells.
    pub(crate) fn of_cells(ty: Ty, sizes: &[usize], cells: Vec<Cell>) -> Value {
        Value { ty, sizes: Sizes::new(sizes), data: Data::of(cells, sizes.is_empty()) }
    }

    pub(crate) fn elements(&self) -> usize {
        self.sizes.elements()
    }

    pub(crate) fn is_scalar(&self) -> bool {
        self.sizes.rank() == 0
    }

    pub(crate) fn cell(&self, i: usize) -> Cell {
        self.data.cell(i)
    }

    pub(crate) fn cells(&self) -> Vec<Cell> {
        (0..self.elements()).map(|i| self.cell(i)).collect()
    }

    pub(crate) fn is_known(&self) -> bool {
        match &self.data {
            Data::Num(_) | Data::Known(_) => true,
            Data::Span { .. } => self.elements() == 0,
            Data::Cells(cells) => cells.iter().all(|cell| matches!(cell, Cell::Known(_))),
        }
    }

    /// The numbers, if all are known.
    pub(crate) fn known(&self) -> Option<Cow<'_, [f64]>> {
        match &self.data {
            Data::Num(number) => Some(Cow::Owned(vec![*number])),
            Data::Known(values) => Some(Cow::Borrowed(values)),
            Data::Span { .. } => (self.elements() == 0).then(|| Cow::Owned(Vec::new())),
            Data::Cells(cells) => {
                let number = |cell: &Cell| if let Cell::Known(x) = cell { Some(*x) } else { None };
                cells.iter().map(number).collect::<Option<Vec<f64>>>().map(Cow::Owned)
            }
        }
    }

    /// The value as messages of programs have it: arrays in brackets, their first numbers only.
    pub(crate) fn in_words(&self) -> String {
        const MOST: usize = 20;
        match self.known() {
            None => "(depends on parameters)".into(),
            Some(known) if self.is_scalar() => known[0].to_string(),
            Some(known) => {
                let shown: Vec<String> = known.iter().take(MOST).map(f64::to_string).collect();
                let more = if known.len() > MOST { ", ..." } else { "" };
                format!("[{}{more}]", shown.join(", "))
            }
        }
    }

    /// The number, if it is one that is known.
    pub(crate) fn number(&self) -> Option<f64> {
        match (&self.data, self.is_scalar()) {
            (Data::Num(number), true) => Some(*number),
            (_, true) => self.known().map(|values| values[0]),
            _ => None,
        }
    }

    /// The same with numbers of its own.
    pub(crate) fn copied(&self) -> Value {
        match &self.data {
            Data::Known(values) => Value { data: Data::Known(Arc::new(values.to_vec())), ..self.clone() },
            _ => self.clone(),
        }
    }

    /// Other dimensions and type for the same numbers.
    pub(crate) fn with(&self, ty: Ty, sizes: &[usize]) -> Value {
        let sizes = Sizes::new(sizes);
        debug_assert_eq!(sizes.elements(), self.elements());
        let data = match &self.data {
            Data::Num(number) if sizes.rank() > 0 => Data::Known(Arc::new(vec![*number])),
            Data::Known(values) if sizes.rank() == 0 => Data::Num(values[0]),
            data => data.clone(),
        };
        Value { ty, sizes, data }
    }

    pub(crate) fn typed(self, ty: Ty) -> Value {
        Value { ty, ..self }
    }

    /// Numbers of this value at these places, in their order.
    pub(crate) fn pick(&self, ty: Ty, sizes: &[usize], places: impl Iterator<Item = usize>) -> Value {
        match &self.data {
            Data::Known(values) => Value::known_of(ty, sizes, places.map(|i| values[i]).collect()),
            _ => Value::of_cells(ty, sizes, places.map(|i| self.cell(i)).collect()),
        }
    }

    /// Neighbouring numbers of this value.
    pub(crate) fn slice(&self, ty: Ty, sizes: &[usize], start: usize) -> Value {
        let shape = Sizes::new(sizes);
        let length = shape.elements();
        let data = match &self.data {
            Data::Known(values) if shape.rank() == 0 => Data::Num(values[start]),
            Data::Known(values) => Data::Known(Arc::new(values[start..start + length].to_vec())),
            Data::Span { node, start: own } => Data::Span { node: *node, start: own + start as u32 },
            Data::Cells(cells) => Data::of(cells[start..start + length].to_vec(), shape.rank() == 0),
            Data::Num(number) => Data::Num(*number),
        };
        Value { ty, sizes: shape, data }
    }

    /// Rows and columns: a vector is one column, a row vector one row.
    pub(crate) fn rows_and_columns(&self) -> (usize, usize) {
        match (self.ty.arrays, self.ty.base) {
            (0, Base::Vector) => (self.sizes.at(0), 1),
            (0, Base::RowVector) => (1, self.sizes.at(0)),
            (0, Base::Matrix) => (self.sizes.at(0), self.sizes.at(1)),
            _ => (self.elements(), 1),
        }
    }

    /// Writes numbers at places.
    pub(crate) fn write(&mut self, places: &[usize], new: &Value) {
        if places.is_empty() {
            return;
        }
        if let (Data::Num(_), [0]) = (&self.data, places) {
            self.data = Data::of(vec![new.cell(0)], true);
            return;
        }
        match (&mut self.data, new.known()) {
            (Data::Known(values), Some(new)) => {
                let values = Arc::make_mut(values);
                for (i, &place) in places.iter().enumerate() {
                    values[place] = new[if new.len() == 1 { 0 } else { i }];
                }
            }
            _ => {
                if !matches!(self.data, Data::Cells(_)) {
                    self.data = Data::Cells(Arc::new(self.cells()));
                }
                let Data::Cells(cells) = &mut self.data else { return };
                let cells = Arc::make_mut(cells);
                let one = new.elements() == 1;
                for (i, &place) in places.iter().enumerate() {
                    cells[place] = new.cell(if one { 0 } else { i });
                }
            }
        }
    }
}

impl Data {
    pub(crate) fn cell(&self, i: usize) -> Cell {
        match self {
            Data::Num(number) => Cell::Known(*number),
            Data::Known(values) => Cell::Known(values[i]),
            Data::Span { node, start } => Cell::Of { node: *node, at: start + i as u32 },
            Data::Cells(cells) => cells[i],
        }
    }

    /// The shortest way to keep these cells.
    pub(crate) fn of(cells: Vec<Cell>, scalar: bool) -> Data {
        match cells.first() {
            Some(Cell::Known(number)) if scalar => Data::Num(*number),
            Some(&Cell::Of { node, at }) => {
                let next = |(i, cell): (usize, &Cell)| *cell == Cell::Of { node, at: at + i as u32 };
                match cells.iter().enumerate().all(next) {
                    true => Data::Span { node, start: at },
                    false => Data::Cells(Arc::new(cells)),
                }
            }
            _ => {
                let number = |cell: &Cell| if let Cell::Known(x) = cell { Some(*x) } else { None };
                match cells.iter().map(number).collect::<Option<Vec<f64>>>() {
                    Some(values) => Data::Known(Arc::new(values)),
                    None => Data::Cells(Arc::new(cells)),
                }
            }
        }
    }

    /// A number that equal cells share, and others hardly ever.
    pub(crate) fn fingerprint(&self, length: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        for i in 0..length {
            match self.cell(i) {
                Cell::Known(x) => x.to_bits().hash(&mut hasher),
                Cell::Of { node, at } => (node, at).hash(&mut hasher),
            }
        }
        hasher.finish()
    }

    /// Whether both are kept the same way and are surely equal.
    pub(crate) fn same(&self, other: &Data) -> bool {
        match (self, other) {
            (Data::Num(a), Data::Num(b)) => a.to_bits() == b.to_bits(),
            (Data::Known(a), Data::Known(b)) => {
                Arc::ptr_eq(a, b)
                    || (a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.to_bits() == b.to_bits()))
            }
            (Data::Span { node, start }, Data::Span { node: other, start: from }) => {
                node == other && start == from
            }
            (Data::Cells(a), Data::Cells(b)) => Arc::ptr_eq(a, b) || a == b,
            _ => false,
        }
    }
}
