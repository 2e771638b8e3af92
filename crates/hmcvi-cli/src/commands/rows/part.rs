//! Share rows out among processes that know nothing of each other but their number.

use std::collections::BTreeSet;
use std::str::FromStr;

use hmcvi::config::RunSpec;

use crate::failure::Failure;
use crate::processes::Processes;

/// One of so many parts of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// From 1.
    number: usize,
    of: usize,
}

/// Parts that work may be cut into.
const MOST: usize = 1_000_000;

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim().parse::<usize>().ok();
        let part = text.split_once('/').and_then(|(i, n)| Some(Part { number: number(i)?, of: number(n)? }));
        part.filter(|part| (1..=part.of).contains(&part.number) && part.of <= MOST).ok_or_else(|| {
            format!("it must be I/N, part I of N, such as 3/16: I from 1 to N, N at most {MOST}")
        })
    }
}

/// Which rows a process works on.
pub(crate) struct Share {
    /// Its own.
    pub(crate) own: BTreeSet<usize>,
    /// Whether it goes on with rows of others when its own are done, until all are: others work beside it, and will not
    /// come again.
    pub(crate) helps: bool,
}

impl Share {
    /// The rows of a part that was asked for, or of this process among those that were started together, or all.
    pub(crate) fn new(
        processes: &Processes,
        part: Option<Part>,
        specs: &[&RunSpec],
    ) -> Result<Self, Failure> {
        let costs = specs.iter().map(|spec| cost_of(spec) * spec.train.epochs as f64).collect();
        Share::of(processes, part, costs)
    }

    /// The same of so many rows of which nobody knows how long they take.
    pub(crate) fn equal(processes: &Processes, part: Option<Part>, rows: usize) -> Result<Self, Failure> {
        Share::of(processes, part, vec![1.0; rows])
    }

    fn of(processes: &Processes, part: Option<Part>, costs: Vec<f64>) -> Result<Self, Failure> {
        let ranks = processes.ranks();
        if ranks.is_some() && part.is_some() {
            let text = "`--part` is given, but several processes were started together and share the rows by themselves";
            return Err(
                Failure::Usage(text.into()).then("leave `--part` out, or start one process for each part")
            );
        }
        let among = ranks.as_ref().map(|ranks| Part { number: ranks.rank() + 1, of: ranks.size() });
        let own = match part.or(among) {
            Some(part) => part.of(&costs),
            None => (0..costs.len()).collect(),
        };
        Ok(Share { own, helps: ranks.is_some() })
    }
}

/// What an epoch costs, relative to a model without HMC steps: a force and its derivative for every leapfrog step.
pub(crate) fn cost_of(spec: &RunSpec) -> f64 {
    1.0 + 3.0 * (spec.chain.hmc_steps * spec.chain.leapfrog_steps) as f64
}

impl Part {
    /// Rows of this part, of rows that take so long: the longest one first, each to the part that has least to do.
    /// Every process comes to the same answer.
    pub(crate) fn of(self, costs: &[f64]) -> BTreeSet<usize> {
        let mut order: Vec<usize> = (0..costs.len()).collect();
        order.sort_by(|a, b| costs[*b].total_cmp(&costs[*a]));
        let mut load = vec![0.0_f64; self.of.min(costs.len()).max(1)];
        let mut own = BTreeSet::new();
        for i in order {
            let least = (0..load.len()).min_by(|a, b| load[*a].total_cmp(&load[*b])).unwrap_or(0);
            load[least] += costs[i].max(f64::MIN_POSITIVE);
            if least + 1 == self.number {
                own.insert(i);
            }
        }
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_part_and_parts_take_about_as_long() {
        let costs: Vec<f64> = (0..22).map(|i| [1.0, 13.0, 37.0][i % 3]).collect();
        let most = 37.0;
        for of in [1, 2, 5, 16, 22, 40] {
            let parts: Vec<BTreeSet<usize>> = (1..=of).map(|number| Part { number, of }.of(&costs)).collect();
            let mut all: Vec<usize> = parts.iter().flatten().copied().collect();
            all.sort_unstable();
            assert_eq!(all, (0..22).collect::<Vec<_>>(), "{of} parts");
            let load = |part: &BTreeSet<usize>| part.iter().map(|i| costs[*i]).sum::<f64>();
            let mean = costs.iter().sum::<f64>() / of as f64;
            assert!(parts.iter().all(|part| load(part) < mean + most), "{of} parts");
        }
    }

    #[test]
    fn parts_are_numbered_from_one() {
        assert_eq!("3/16".parse(), Ok(Part { number: 3, of: 16 }));
        for wrong in ["0/4", "5/4", "4", "a/b", "1/", "1/0", "-1/4", "1/4/2"] {
            let why = wrong.parse::<Part>().expect_err(wrong);
            assert!(why.contains("I/N"), "{why}");
        }
    }
}
