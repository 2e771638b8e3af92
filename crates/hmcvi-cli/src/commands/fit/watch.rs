//! Show how a fit goes on, keep the trace of its bound, and stop it on request.

use std::ops::ControlFlow;
use std::time::Instant;

use hmcvi::bayes::fit::{EvidenceStage, Progress, Stage};
use hmcvi_fit::{Stages, in_words, of_evidence};

use crate::Context;
use crate::line::{Line, Rank};
use crate::progress::{PLAIN_EVERY, clock};

/// Watches a fit, and chains of NUTS.
pub(crate) struct Watch<'c> {
    context: &'c Context,
    stages: Stages,
    begun: Instant,
    spoken: Instant,
    /// Draws that each chain has done, and its divergences.
    chains: Vec<(usize, usize)>,
    annealing: Option<EvidenceStage>,
    said_parts: bool,
}

impl<'c> Watch<'c> {
    pub(crate) fn new(context: &'c Context) -> Self {
        let now = Instant::now();
        Watch {
            context,
            stages: Stages::default(),
            begun: now,
            spoken: now,
            chains: Vec::new(),
            annealing: None,
            said_parts: false,
        }
    }

    /// Takes the redrawn line away; gives the stages with their traces.
    pub(crate) fn finish(self) -> Stages {
        self.context.terminal.erase_progress();
        self.stages
    }

    /// Whether this process is to go on.
    fn goes_on(&self) -> bool {
        !self.context.interrupt.requested()
    }

    /// Whether all processes are to go on that make a fit together.
    fn all_go_on(&self) -> bool {
        !self.context.processes.any(self.context.interrupt.requested())
    }

    /// Keeps and shows how a fit goes on; returns whether it should.
    pub(crate) fn fit(&mut self, progress: Progress) -> bool {
        let begins = self.stages.add(&progress);
        if begins {
            self.begun = Instant::now();
        }
        let (done, most) = progress.updates;
        let counted = match progress.stage {
            Stage::Places => format!("place {done} of {most}"),
            _ => format!("update {done} of {most} at most"),
        };
        let line = Line::with_bar(done as f64 / most as f64)
            .part(Rank::Vital, in_words(progress.stage))
            .part(Rank::Vital, format!("bound {:.2}", progress.bound))
            .part(Rank::Useful, counted)
            .part(Rank::Important, format!("left {} at most", self.left(done, most)));
        self.show(&line, begins.then(|| in_words(progress.stage)));
        self.all_go_on()
    }

    /// Shows how the log evidence is bracketed; returns whether it should go on.
    pub(crate) fn evidence(&mut self, stage: EvidenceStage, share: f64) -> bool {
        let what = of_evidence(stage);
        let begins = self.annealing.replace(stage) != Some(stage);
        if begins {
            self.begun = Instant::now();
        }
        let (done, of) = ((1000.0 * share) as usize, 1000);
        let line = Line::with_bar(share)
            .part(Rank::Vital, what)
            .part(Rank::Vital, format!("{:.0}%", 100.0 * share))
            .part(
                Rank::Important,
                if done > 0 { format!("left {}", self.left(done, of)) } else { String::new() },
            );
        self.show(&line, begins.then_some(what));
        self.all_go_on()
    }

    /// Shows how chains of NUTS go on; says whether they should.
    pub(crate) fn nuts(&mut self, progress: &hmcvi_nuts::Progress, chains: usize) -> ControlFlow<()> {
        // Other chains may come after these.
        let begins = self.chains.get(progress.chain).is_none_or(|before| before.0 > progress.done);
        if begins {
            (self.chains, self.begun) = (vec![(0, 0); chains], Instant::now());
        }
        self.chains[progress.chain] = (progress.done, progress.divergences);
        let sum = |of: fn(&(usize, usize)) -> usize| self.chains.iter().map(of).sum::<usize>();
        let (done, of, divergences) = (sum(|c| c.0), chains * progress.of, sum(|c| c.1));
        let rank = if divergences > 0 { Rank::Important } else { Rank::Detail };
        let line = Line::with_bar(done as f64 / of as f64)
            .part(Rank::Vital, if progress.warming_up { "NUTS, warm-up" } else { "NUTS, sampling" })
            .part(Rank::Vital, format!("draw {done} of {of}"))
            .part(Rank::Useful, format!("step {:.2e}", progress.step_size))
            .part(rank, format!("divergences {divergences}"))
            .part(Rank::Important, format!("left {}", self.left(done, of)));
        self.show(&line, begins.then_some("sampling with NUTS"));
        if self.goes_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Shows how many draws have their quantities; returns whether to go on.
    pub(crate) fn quantities(&mut self, done: usize, of: usize) -> bool {
        self.part_of_many("quantities of draws", "draw", done, of);
        self.goes_on()
    }

    /// Shows how many walks from other places are done; returns whether to go on.
    pub(crate) fn walks(&mut self, done: usize, of: usize) -> bool {
        self.part_of_many("looking for other modes", "walk", done, of);
        self.all_go_on()
    }

    /// Shows how many parts are done. Most are before anybody could read it.
    fn part_of_many(&mut self, what: &str, part: &str, done: usize, of: usize) {
        if self.begun.elapsed().as_secs_f64() > 1.0 {
            let line = Line::with_bar(done as f64 / of as f64)
                .part(Rank::Vital, what)
                .part(Rank::Vital, format!("{part} {done} of {of}"))
                .part(Rank::Important, format!("left {}", self.left(done, of)));
            let begins = !std::mem::replace(&mut self.said_parts, true);
            self.show(&line, begins.then_some(what));
        }
    }

    /// Time left if the rest takes as long as what was done since the stage began.
    fn left(&self, done: usize, of: usize) -> String {
        let rest = of.saturating_sub(done) as f64 / done.max(1) as f64;
        clock(self.begun.elapsed().as_secs_f64() * rest)
    }

    fn show(&mut self, line: &Line, begins: Option<&str>) {
        let terminal = &self.context.terminal;
        if terminal.interactive() {
            terminal.progress(line);
        } else if let Some(what) = begins {
            self.spoken = Instant::now();
            terminal.say(what);
        } else if self.spoken.elapsed() >= PLAIN_EVERY {
            self.spoken = Instant::now();
            terminal.say_line(line);
        }
    }
}
