//! Run training steps and validation on a device, and hand their results back in order.

use std::ops::Range;
use std::sync::Arc;

use hmcvi_graph::{DataSet, Program, Store};

use super::trainer::TrainError;
use crate::data::{Dataset, Drawn, Share};
use crate::device::{Batch, Data, Device, HasRows, Index, Prepared, Results, State, Turn};

/// What a training is made of, wherever it runs.
pub(super) struct Parts<'a> {
    pub(super) training: &'a Program,
    pub(super) evaluation: &'a Program,
    /// Moves averages of the parameters, where there are some.
    pub(super) averaging: Option<&'a Program>,
    /// Most rows of an update, and of a look at validation rows.
    pub(super) rows: (usize, usize),
    pub(super) data: Arc<Dataset>,
    /// Validation rows, once for each draw.
    pub(super) validation: Vec<Drawn>,
    pub(super) seed: u64,
    pub(super) validation_seed: u64,
}

/// The training rows of a data set.
struct Training(Arc<Dataset>);

impl HasRows for Training {
    fn rows(&self) -> (&'static str, DataSet<'_>) {
        self.0.train().data_set()
    }
}

impl HasRows for Share {
    fn rows(&self) -> (&'static str, DataSet<'_>) {
        self.data_set()
    }
}

impl HasRows for Drawn {
    fn rows(&self) -> (&'static str, DataSet<'_>) {
        self.data_set()
    }
}

/// Which of the two programs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Training,
    Evaluation,
}

/// The training rows, and the order in which they come.
enum Rows {
    Here {
        data: Data,
        order: Index,
    },
    /// Other processes hold some of them.
    Spread {
        data: Arc<Dataset>,
        order: Vec<u32>,
        processes: usize,
    },
}

impl Rows {
    fn new(device: &Device, data: Arc<Dataset>) -> Result<Self, TrainError> {
        match device.ranks().filter(|_| data.train().is_spread()) {
            Some(ranks) => Ok(Rows::Spread { data, order: Vec::new(), processes: ranks.size() }),
            None => {
                let order = Index::new(device, Vec::new())?;
                Ok(Rows::Here { data: Data::new(device, Arc::new(Training(data)))?, order })
            }
        }
    }
}

/// A training on a device.
pub(super) struct Backend {
    device: Device,
    training: Prepared<f32>,
    evaluation: Prepared<f32>,
    averaging: Option<Prepared<f32>>,
    state: State,
    /// The state that was remembered last; at first, the one it began with.
    kept: State,
    rows: Rows,
    validation: Vec<Data>,
    /// All validation rows.
    all: Index,
    seed: u64,
    validation_seed: u64,
}

impl Backend {
    pub(super) fn new(device: &Device, parts: Parts<'_>, store: &Store<f32>) -> Result<Self, TrainError> {
        let averaging = parts.averaging.map(|program| device.prepare(program, 1)).transpose()?;
        let all = (0..parts.data.validation().len() as u32).collect();
        let validation = parts.validation.into_iter().map(|drawn| Data::new(device, Arc::new(drawn)));
        Ok(Backend {
            device: device.clone(),
            training: device.prepare(parts.training, parts.rows.0)?,
            evaluation: device.prepare(parts.evaluation, parts.rows.1)?,
            averaging,
            state: State::new(device, store)?,
            kept: State::new(device, store)?,
            validation: validation.collect::<Result<_, _>>()?,
            rows: Rows::new(device, parts.data)?,
            all: Index::new(device, all)?,
            seed: parts.seed,
            validation_seed: parts.validation_seed,
        })
    }

    /// Waits for this training's turn among those that share a GPU.
    pub(super) fn turn(&self) -> Option<Turn> {
        self.training.turn()
    }

    /// Updates that are best queued before results are asked for.
    pub(super) fn patience(&self) -> usize {
        self.training.patience()
    }

    /// Bytes of working memory.
    pub(super) fn bytes(&self) -> usize {
        self.training.bytes() + self.evaluation.bytes()
    }

    /// Sets the order in which rows come.
    pub(super) fn begin_epoch(&mut self, order: Vec<u32>) -> Result<(), TrainError> {
        match &mut self.rows {
            Rows::Here { order: known, .. } => *known = Index::new(&self.device, order)?,
            Rows::Spread { order: known, .. } => *known = order,
        }
        Ok(())
    }

    /// Queues an update with the rows of this part of the order.
    pub(super) fn update(&mut self, part: Range<usize>, rate: f64, step: u64) -> Result<(), TrainError> {
        let inputs: &[(&str, &[f32])] = &[("learning_rate", &[rate as f32])];
        let share;
        let data = match &self.rows {
            Rows::Here { data, order } => (data, order, part),
            Rows::Spread { data, order, processes } => {
                share = self.share(data, &order[part.clone()], *processes)?;
                (&share.0, &share.1, 0..part.len())
            }
        };
        let batch = Batch { inputs, data: Some(data), seed: self.seed, step, row_offset: 0 };
        Ok(self.training.run(&mut self.state, &batch)?)
    }

    /// The rows of a batch that this process computes, and where each of the batch is among them; the others, which it
    /// does not look at, are anywhere.
    fn share(&self, data: &Dataset, rows: &[u32], processes: usize) -> Result<(Data, Index), TrainError> {
        let parts: Vec<_> = (0..processes).map(|rank| self.training.rows_of(rank, rows.len())).collect();
        let own = self.device.ranks().map_or(0..rows.len(), |ranks| parts[ranks.rank()].clone());
        let share = data.train().share_of_batch(rows, &parts);
        let share = share.unwrap_or_else(|| unreachable!("the rows are spread"));
        let place = |row: usize| if own.contains(&row) { (row - own.start) as u32 } else { 0 };
        let index = Index::new(&self.device, (0..rows.len()).map(place).collect())?;
        Ok((Data::new(&self.device, Arc::new(share))?, index))
    }

    /// Queues a look at these validation rows of a draw.
    pub(super) fn look(&mut self, draw: usize, part: Range<usize>) -> Result<(), TrainError> {
        let row_offset = part.start as u64;
        let batch = Batch {
            inputs: &[],
            data: Some((&self.validation[draw], &self.all, part)),
            seed: self.validation_seed,
            step: draw as u64,
            row_offset,
        };
        Ok(self.evaluation.run(&mut self.state, &batch)?)
    }

    /// Results of everything queued since they were last asked for.
    pub(super) fn collect(&mut self, which: Which, into: &mut Results) -> Result<(), TrainError> {
        match which {
            Which::Training => Ok(self.training.collect(into)?),
            Which::Evaluation => Ok(self.evaluation.collect(into)?),
        }
    }

    /// Parameters and the optimiser's state.
    pub(super) fn store(&self) -> Result<Store<f32>, TrainError> {
        Ok(self.state.store()?)
    }

    /// Moves the averages, where there are some, by this share of their way to the parameters.
    pub(super) fn average(&mut self, weight: f64) -> Result<(), TrainError> {
        let Some(averaging) = &mut self.averaging else { return Ok(()) };
        let inputs: &[(&str, &[f32])] = &[("weight", &[weight as f32])];
        let batch = Batch { inputs, data: None, seed: 0, step: 0, row_offset: 0 };
        averaging.run(&mut self.state, &batch)?;
        Ok(averaging.collect(&mut Results::default())?)
    }

    /// Remembers the state as it is now, where it is.
    pub(super) fn keep(&mut self) -> Result<(), TrainError> {
        Ok(self.kept.copy_from(&self.state)?)
    }

    /// The state that was remembered last; at first, the one it began with.
    pub(super) fn kept(&self) -> Result<Store<f32>, TrainError> {
        Ok(self.kept.store()?)
    }
}
