//! Work together with the other processes that `mpirun` or `srun` started: share rows out, speak with one voice, and
//! refuse what they would do differently.

#[cfg(feature = "mpi")]
mod mpi;

use std::sync::Arc;

use hmcvi::device::{Alone, Device, Ranks, Sums};
use serde::Serialize;

use crate::arguments::{Command, Machine, SumsName};
use crate::failure::Failure;
use crate::settings::device_of;
use crate::terminal::Terminal;

/// This process and those that it works with.
#[derive(Default)]
pub(crate) struct Processes {
    #[cfg(feature = "mpi")]
    joined: Option<mpi::Joined>,
    /// Where this process works apart from others of its machine.
    apart: Option<Here>,
}

/// Where the time of processes goes that work together.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Exchange {
    /// Times that sums or rows were handed out.
    pub(crate) calls: u64,
    /// Bytes that each process had in the end.
    pub(crate) bytes: u64,
    /// Seconds until the slowest process was there.
    pub(crate) waiting: f64,
    /// Seconds that the bytes travelled.
    pub(crate) transfer: f64,
}

/// This process among those of its machine.
#[derive(Clone, Copy)]
struct Here {
    number: usize,
    processes: usize,
}

impl Here {
    /// Cores for this process: those of the machine, divided among its processes.
    fn cores(self) -> usize {
        (std::thread::available_parallelism().map_or(1, |n| n.get()) / self.processes).max(1)
    }
}

/// How many processes were started together, as far as the environment says it: `mpirun` of OpenMPI and of MPICH name
/// their number; `srun` with PMIx names only this one's, and Slurm that of the step.
fn started(variable: impl Fn(&str) -> Option<String>) -> usize {
    let count = |name: &str| variable(name)?.trim().parse::<usize>().ok();
    let of_step = || variable("PMIX_RANK").and_then(|_| count("SLURM_STEP_NUM_TASKS"));
    count("OMPI_COMM_WORLD_SIZE").or_else(|| count("PMI_SIZE")).or_else(of_step).unwrap_or(1)
}

fn started_here() -> usize {
    started(|name| std::env::var(name).ok())
}

/// Whether a command knows how to share its work.
fn is_shared(command: &Command) -> bool {
    use Command::{Bench, Eval, Fit, Reproduce, Resume, Sweep, Train};
    matches!(command, Train(_) | Resume(_) | Eval(_) | Fit(_) | Bench(_) | Reproduce(_) | Sweep(_))
}

impl Processes {
    /// Joins the others, if there are any. They have to run the same program with the same arguments.
    #[cfg(feature = "mpi")]
    pub(crate) fn join(terminal: &Arc<Terminal>, command: &Command) -> Result<Self, Failure> {
        let started = started_here();
        if started < 2 {
            return Ok(Processes::default());
        }
        let joined = mpi::Joined::new(terminal.clone(), started)?;
        let processes = Processes { joined: Some(joined), apart: None };
        processes.check_same()?;
        if is_shared(command) { Ok(processes) } else { Err(alone()) }
    }

    /// Refuses to do the same thing several times over.
    #[cfg(not(feature = "mpi"))]
    pub(crate) fn join(_: &Arc<Terminal>, command: &Command) -> Result<Self, Failure> {
        match started_here() {
            0 | 1 => Ok(Processes::default()),
            _ if !is_shared(command) => Err(alone()),
            n => Err(Failure::Usage(format!("{n} processes were started together, but this build has no MPI")).then(
                "build it with `cargo install --path crates/hmcvi-cli --features mpi` (see docs/clusters.md), or start \
                 one process",
            )),
        }
    }

    /// The others, where there are some.
    pub(crate) fn ranks(&self) -> Option<Arc<dyn Ranks>> {
        #[cfg(feature = "mpi")]
        return self.joined.as_ref().map(mpi::Joined::ranks);
        #[cfg(not(feature = "mpi"))]
        None
    }

    /// Whether this process speaks and writes for all.
    pub(crate) fn leads(&self) -> bool {
        self.ranks().is_none_or(|ranks| ranks.rank() == 0)
    }

    /// The device that was asked for; all processes together are one.
    pub(crate) fn device(&self, machine: &Machine) -> Result<Device, Failure> {
        let own = self.own_device(machine)?;
        let sums = match machine.sums {
            SumsName::Auto => Sums::Auto,
            SumsName::Ordered => Sums::Ordered,
            SumsName::PerProcess => Sums::PerProcess,
            SumsName::Nccl => Sums::Nccl,
            SumsName::Host => Sums::Host,
        };
        match self.ranks() {
            Some(ranks) => Ok(own.among(ranks, sums)?),
            None if sums == Sums::Auto => Ok(own),
            // The same way as with others, to try it out.
            None => Ok(own.among(Arc::new(Alone), sums)?),
        }
    }

    /// The device for work of this process alone.
    pub(crate) fn own_device(&self, machine: &Machine) -> Result<Device, Failure> {
        let threads = match (self.ranks(), machine.threads) {
            (Some(_), 0) => self.here().cores(),
            (None, 0) => self.apart.map_or(0, Here::cores),
            (_, threads) => threads,
        };
        device_of(&Machine { threads, ..*machine }, self.here().number)
    }

    /// Whether any process says so.
    pub(crate) fn any(&self, flag: bool) -> bool {
        self.ranks().map_or(flag, |ranks| ranks.any(flag))
    }

    /// Waits until all processes are here.
    pub(crate) fn meet(&self) {
        self.any(false);
    }

    /// A number as the first process has it.
    pub(crate) fn number_of_first(&self, number: usize) -> usize {
        let bytes = self.ranks().map(|ranks| ranks.of_first((number as u64).to_le_bytes().to_vec()));
        bytes
            .and_then(|bytes| bytes.try_into().ok())
            .map_or(number, |bytes| u64::from_le_bytes(bytes) as usize)
    }

    /// The processes of this machine.
    fn here(&self) -> Here {
        #[cfg(feature = "mpi")]
        if let Some(joined) = &self.joined {
            return joined.here();
        }
        self.apart.unwrap_or(Here { number: 0, processes: 1 })
    }

    /// This process for work of its own, with its share of the cores.
    pub(crate) fn apart(&self) -> Processes {
        Processes {
            #[cfg(feature = "mpi")]
            joined: None,
            apart: self.ranks().map(|_| self.here()),
        }
    }

    /// Measures from now on where the time goes; answers what was measured since it was last asked.
    pub(crate) fn measure(&self) -> Option<Exchange> {
        #[cfg(feature = "mpi")]
        return self.joined.as_ref().map(mpi::Joined::measure);
        #[cfg(not(feature = "mpi"))]
        None
    }

    /// Ends all processes, because this one cannot go on.
    pub(crate) fn give_up(&self, code: u8) {
        #[cfg(feature = "mpi")]
        if let Some(joined) = &self.joined {
            joined.abort(code);
        }
        #[cfg(not(feature = "mpi"))]
        let _ = code;
    }

    /// Lets the first process speak first: mostly, all have the same to say.
    pub(crate) fn let_the_first_speak(&self) {
        if !self.leads() {
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
    }

    #[cfg(feature = "mpi")]
    fn check_same(&self) -> Result<(), Failure> {
        let program = std::env::current_exe().ok().and_then(|path| hmcvi::run::initial_sha256(&path));
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        for (what, own) in [
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("program", program.unwrap_or_default()),
            ("command line", arguments.join(" ")),
        ] {
            self.agree(what, &own)?;
        }
        Ok(())
    }

    /// Checks that all processes have the same of something. All of them come to the same answer.
    pub(crate) fn agree(&self, what: &str, own: &str) -> Result<(), Failure> {
        let all = self.ranks().map(|ranks| ranks.of_all(own.as_bytes())).unwrap_or_default();
        let Some(rank) = all.iter().position(|other| *other != all[0]) else { return Ok(()) };
        let [first, its] = [0, rank].map(|rank| String::from_utf8_lossy(&all[rank]).into_owned());
        let text = format!("process {rank} has another {what} than process 0: `{its}`, not `{first}`");
        Err(Failure::Usage(text).then("start the same program with the same arguments and files everywhere"))
    }
}

fn alone() -> Failure {
    Failure::Usage(format!(
        "{} processes were started together, but this command works alone",
        started_here()
    ))
    .then("start one process: `train`, `resume`, `eval`, `fit`, `bench`, `reproduce` and `sweep` share their work")
}

#[cfg(test)]
mod tests {
    use super::started;

    #[test]
    fn processes_are_counted_whoever_starts_them() {
        for (variables, expected) in [
            (&[][..], 1),
            (&[("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_RANK", "0")], 4),
            (&[("PMI_SIZE", "3"), ("PMI_RANK", "0")], 3),
            (&[("PMIX_RANK", "1"), ("SLURM_STEP_NUM_TASKS", "8")], 8),
            // A step of Slurm whose processes do not know each other, as in an array of jobs.
            (&[("SLURM_STEP_NUM_TASKS", "8")], 1),
            (&[("PMI_SIZE", "many")], 1),
        ] {
            let find = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
            assert_eq!(started(find), expected, "{variables:?}");
        }
    }
}
