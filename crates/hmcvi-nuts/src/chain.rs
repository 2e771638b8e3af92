//! Run one chain from its first place to its last draw.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use hmcvi_graph::random::{self, Key};
use nuts_rs::rand::SeedableRng;
use nuts_rs::rand::rngs::ChaCha8Rng;
use nuts_rs::{Chain, CpuLogpFunc, CpuMath, DiagNutsSettings, Settings};

use crate::density::{Compiled, Density, NoDensity};
use crate::{ChainDraws, Nuts, NutsError, Progress, Start};

/// Places that are tried before a chain gives up; as many as Stan's.
const TRIES: u64 = 100;
/// Stream of first places, apart from those of programs.
const STREAM: u16 = u16::MAX - 2;

type NutsChain<'r> = <DiagNutsSettings as Settings>::Chain<CpuMath<Density<'r>>>;

/// What all chains share.
pub(crate) struct Task<'r> {
    pub(crate) nuts: &'r Nuts,
    pub(crate) compiled: &'r Compiled,
    pub(crate) start: Option<&'r Start>,
    pub(crate) stop: &'r AtomicBool,
}

impl<'r> Task<'r> {
    /// Draws of a chain, counted from 0: all of them, or those until it was stopped.
    pub(crate) fn run(&self, chain: usize, tell: &Sender<Progress>) -> Result<ChainDraws, NutsError> {
        let mut done = ChainDraws::default();
        let Some(mut sampler) = self.begin(chain)? else { return Ok(done) };
        let (mut density, warm_up) = (self.density(), self.warm_up());
        let mut progress = Progress { chain, of: warm_up + self.nuts.draws, ..Progress::default() };
        while progress.done < progress.of {
            let (place, _, stats, info) = match sampler.expanded_draw() {
                Ok(drawn) => drawn,
                Err(_) if self.stopped() => break,
                Err(why) => {
                    let (chain, draw) = (chain + 1, progress.done + 1);
                    return Err(NutsError::Chain { chain, draw, why: said(why) });
                }
            };
            progress.warming_up = progress.done < warm_up;
            progress.done += 1;
            progress.step_size = stats.adapt.step_size.step_size_bar;
            if !progress.warming_up {
                progress.divergences += usize::from(info.diverging);
                done.unconstrained.push(density.unconstrained(&place).to_vec());
                done.diverging.push(info.diverging);
                done.depths.push(stats.depth);
                done.steps.push(info.num_steps);
                done.energies.push(stats.point.energy);
            }
            // Whether anybody listens is of no concern: the draws are handed over at the end.
            tell.send(progress).ok();
        }
        done.step_size = progress.step_size;
        done.values = self.compiled.values(&done.unconstrained)?;
        Ok(done)
    }

    /// The chain at its first place; nothing where it was stopped before it began.
    fn begin(&self, chain: usize) -> Result<Option<NutsChain<'r>>, NutsError> {
        let mut density = self.density();
        let (mut gradient, mut last) = (vec![0.0; density.dim()], String::new());
        for attempt in 0..TRIES {
            let place = self.first_place(chain, attempt);
            match density.logp(&place, &mut gradient) {
                Ok(_) => {}
                Err(NoDensity::Run(error)) => return Err(error.into()),
                Err(NoDensity::Stopped) => return Ok(None),
                Err(why) => {
                    last = why.to_string();
                    continue;
                }
            }
            let mut sampler = self.sampler(chain)?;
            match sampler.set_position(&place) {
                Ok(()) => return Ok(Some(sampler)),
                Err(_) if self.stopped() => return Ok(None),
                Err(why) => last = format!("the sampler says: {}", said(why)),
            }
        }
        let places = match self.start {
            Some(_) => "draws of the Gaussian that was given",
            None => "between -2 and 2 on the unconstrained scale",
        };
        Err(NutsError::NoDensity { chain: chain + 1, tries: TRIES, places, last, why: String::new() })
    }

    /// A random place, in the coordinates of the sampler.
    fn first_place(&self, chain: usize, attempt: u64) -> Vec<f64> {
        let mut place = vec![0.0; self.compiled.dimension];
        let key = Key { seed: self.nuts.seed, stream: STREAM, step: attempt, row: chain as u32 };
        match self.start {
            Some(start) => {
                random::normal(key, &mut place);
                place.iter_mut().for_each(|x| *x *= start.spread);
            }
            None => {
                random::uniform(key, &mut place);
                place.iter_mut().for_each(|x| *x = 4.0 * *x - 2.0);
            }
        }
        place
    }

    fn sampler(&self, chain: usize) -> Result<NutsChain<'r>, NutsError> {
        let mut settings = DiagNutsSettings {
            num_tune: self.warm_up() as u64,
            num_draws: self.nuts.draws as u64,
            maxdepth: self.nuts.max_depth,
            ..DiagNutsSettings::default()
        };
        settings.adapt_options.step_size_settings.target_accept = self.nuts.target_accept;
        let mut random = ChaCha8Rng::seed_from_u64(self.nuts.seed);
        random.set_stream(chain as u64);
        let sampler = settings.new_chain(chain as u64, CpuMath::new(self.density()), &mut random);
        sampler.map_err(|why| NutsError::Chain { chain: chain + 1, draw: 0, why: said(why) })
    }

    fn density(&self) -> Density<'r> {
        self.compiled.density(self.start, self.stop)
    }

    fn warm_up(&self) -> usize {
        if self.start.is_some() { self.nuts.warm_up_after_fit } else { self.nuts.warm_up }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// What an error says, without the calls that some list in further lines.
fn said(error: impl std::fmt::Display) -> String {
    format!("{error:#}").lines().next().unwrap_or_default().into()
}
